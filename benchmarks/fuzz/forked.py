"""Runs the program that opens a PDF in a fork of this process: a case costs a fork, not the start of an interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from bbj_pipeline.sources.pdf import worker

__all__ = ["forked_worker"]


def forked_worker(request: bytes, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run the PDF worker on ``request`` in a fork of this process: the same program, without starting an interpreter."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as taken:
        given.write(request)
        given.seek(0)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.dup2(given.fileno(), 0)
                os.dup2(taken.fileno(), 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                sys.stdin, sys.stdout = os.fdopen(0, "r"), os.fdopen(1, "w")
                worker.main()
                sys.stdout.flush()
                status = 0
            finally:
                os._exit(status)
        until = time.monotonic() + seconds
        pause = 0.001
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() > until:
                os.kill(child, 9)
                os.waitpid(child, 0)
                raise subprocess.TimeoutExpired("worker", seconds)
            time.sleep(pause)
            pause = min(0.05, pause * 1.3)
        taken.seek(0)
        return subprocess.CompletedProcess([], os.waitstatus_to_exitcode(ended[1]), taken.read(), b"")
