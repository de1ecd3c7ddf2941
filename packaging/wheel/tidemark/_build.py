"""Facts of the wheel. packaging/wheel/build writes its own in place of these."""

VERSION = "0"
GLIBC = (2, 34)  # or newer
