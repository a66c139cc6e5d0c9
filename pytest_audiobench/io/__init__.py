"""Files as they are read and written: bounded, strict, and not on network disks where locks matter."""
