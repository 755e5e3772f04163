"""The number of files, connections among them, that this process may have open."""

import sys

_ENOUGH = 65_536
_UNLIMITED = 1 << 30

if sys.platform == "win32":

    def limit() -> int:
        """The number of files that may be open: Windows has no limit."""
        return _UNLIMITED

    def raise_limit() -> None:
        """Do nothing: there is no limit."""

else:
    import resource

    def limit() -> int:
        """The number of files that may be open."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return _UNLIMITED if soft == resource.RLIM_INFINITY else soft

    def raise_limit() -> None:
        """Allow as many files as this user may, 65,536 at most: the soft limit is 1,024 on many systems."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
