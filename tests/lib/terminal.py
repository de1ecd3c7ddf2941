"""Running the binary on a terminal, as somebody who sits there does."""

import fcntl
import os
import re
import struct
import subprocess
import termios


def on_a_terminal(tidemark, *args):
    """Run on a terminal of its own, which Ctrl-C can be typed into; the process
    and our end."""
    ours, theirs = os.openpty()

    def take():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, 300, 0, 0))
    process = subprocess.Popen([tidemark.binary, *args], stdin=theirs,
                               stdout=theirs, stderr=theirs,
                               env=tidemark.command_env(), cwd=tidemark.dir,
                               preexec_fn=take)
    os.close(theirs)
    return process, ours


def read_terminal(ours, *until):
    """All that is shown, or as much as has all of the patterns."""
    text = b""
    while not until or not all(re.search(each, text) for each in until):
        try:
            text += os.read(ours, 4096)
        except OSError:  # nobody has the other end any more
            break
    return text
