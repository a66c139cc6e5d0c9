"""Where a checkpoint lies, and which one it is."""

import hashlib
import os
from pathlib import Path


def local_folder(checkpoint):
    """The folder of a checkpoint; one named by a URI (gs://, s3://) is copied once, which needs gcsfs or s3fs."""
    if "://" not in checkpoint:
        return Path(checkpoint)
    import fsspec

    root = os.environ.get("LAUNCHER_CACHE", "~/.cache/launchers")
    folder = Path(root).expanduser() / hashlib.sha256(checkpoint.encode()).hexdigest()[:16]
    if not folder.is_dir():
        files, path = fsspec.core.url_to_fs(checkpoint)
        part = folder.with_suffix(f".{os.getpid()}.part")
        part.mkdir(parents=True)
        files.get(path.rstrip("/") + "/", f"{part}/", recursive=True)
        part.rename(folder)
    return folder


def digest_of(checkpoint):
    """A digest of a file, or of a folder's settings and weights: the revision of a checkpoint without commits."""
    digest = hashlib.sha256()
    kinds = {".json", ".jinja", ".yaml", ".yml", ".safetensors", ".pt", ".pth", ".bin"}
    files = [checkpoint] if checkpoint.is_file() else checkpoint.rglob("*")
    for file in sorted(path for path in files if path.suffix in kinds):
        digest.update(file.name.encode())
        with open(file, "rb") as stream:
            while block := stream.read(1 << 24):
                digest.update(block)
    return digest.hexdigest()[:16]
