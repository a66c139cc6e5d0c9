"""The file system of a path: SQLite's write-ahead log is unsafe over a network."""

from __future__ import annotations

from pathlib import Path

_NETWORK = {"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "panfs", "wekafs"}
_NETWORK |= {"smb2", "smb3", "smbfs"}
_FUSE = {"blobfuse", "blobfuse2", "ceph", "ceph-fuse", "gcsfuse", "glusterfs", "juicefs", "rclone", "s3fs", "seaweedfs"}
_NETWORK |= {f"fuse.{kind}" for kind in (*_FUSE, "sshfs")}
_MOUNTS = Path("/proc/self/mounts")


def network_file_system(path: Path) -> str | None:
    """The kind of network file system that holds ``path``, or None for a local (or unknown) one."""
    if not _MOUNTS.exists():
        return None
    folder = path.resolve()
    deepest, kind = -1, ""
    for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        _, path_text, type_, *_ = line.split(" ")
        mount = Path(path_text.replace("\\040", " "))
        if (mount == folder or mount in folder.parents) and len(mount.parts) > deepest:
            deepest, kind = len(mount.parts), type_
    return kind if kind in _NETWORK else None
