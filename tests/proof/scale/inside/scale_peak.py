"""Run the command line as ``svc-pg`` does, and write the peak of its memory in KiB to the file that SCALE_PEAK names.

The kernel's own count of a child begins with the memory of its parent.
"""

import atexit
import os
import re
import signal
import sys
from importlib import import_module
from pathlib import Path


def _note() -> None:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    [peak] = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    Path(os.environ["SCALE_PEAK"]).write_text(peak, encoding="utf-8")


atexit.register(_note)
signal.signal(signal.SIGINT, signal.default_int_handler)  # also if the parent ignores it
sys.argv[0] = "svc-pg"
sys.exit(import_module("svc_pg.cli").main())
