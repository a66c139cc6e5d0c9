"""Where a checkpoint lies, and which one it is."""

import hashlib
import os
from pathlib import Path


def local_folder(checkpoint):
    """The folder of a checkpoint; one named by a URI (gs://, s3://) is copied once, which needs fsspec and its part."""
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


def digest_of(folder):
    """A digest of a folder's configuration and weights: what the revision of a checkpoint without commits is."""
    digest = hashlib.sha256()
    kinds = {".json", ".yaml", ".yml", ".safetensors", ".pt", ".pth", ".bin"}
    for file in sorted(path for path in folder.rglob("*") if path.suffix in kinds):
        digest.update(str(file.relative_to(folder)).encode())
        with open(file, "rb") as stream:
            while block := stream.read(1 << 24):
                digest.update(block)
    return digest.hexdigest()[:16]
