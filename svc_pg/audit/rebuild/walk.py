"""The order of change of one record's entries in one transaction, as ``svc.audit_walk`` finds it."""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence


def walk(changes: Sequence[tuple[str, str]], start: str | None) -> list[int] | None:
    """The positions of the changes in an order in which each begins with the image that the one before ended with.

    A change is its image before and its image after, '' standing for no row. The order is an Euler path by Hierholzer's
    algorithm; of several, the one that takes the lowest positions first. Its first image is the one that more changes
    begin with than end with; if there is none, the path is a circle, and begins at ``start``. None if there is no path.
    """
    balance = Counter(before for before, _ in changes)
    balance.subtract(after for _, after in changes)
    starts = [image for image, surplus in balance.items() if surplus]
    if starts:
        if len(starts) != 2 or sorted(balance[image] for image in starts) != [-1, 1]:
            return None
        [begin] = (image for image in starts if balance[image] == 1)
    else:
        begin = start if start is not None and any(start == before for before, _ in changes) else changes[0][0]
    left: dict[str, deque[int]] = defaultdict(deque)
    for place, (before, _) in enumerate(changes):
        left[before].append(place)
    stack: list[tuple[str, int]] = [(begin, -1)]
    found: list[int] = []
    while stack:
        image, came_by = stack[-1]
        if left[image]:
            place = left[image].popleft()
            stack.append((changes[place][1], place))
        else:
            stack.pop()
            if came_by >= 0:
                found.append(came_by)
    return found[::-1] if len(found) == len(changes) else None
