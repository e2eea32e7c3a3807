"""The project's own files: those that git tracks or would add; without git, every file outside build folders."""

import os
import subprocess

SKIPPED_FOLDERS = {".git", "build", "out", ".cache"}


def project_files(root):
    """Paths relative to `root`, with '/', sorted."""
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name"],
        capture_output=True, check=False)
    if listing.returncode == 0 and os.path.exists(os.path.join(root, ".git")):
        names = os.fsdecode(listing.stdout).split("\0")
        return sorted({name for name in names if name and os.path.isfile(os.path.join(root, name))})
    found = []
    for folder, subfolders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        if relative == ".":
            subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS]
        found += [os.path.normpath(os.path.join(relative, name)) for name in names]
    return sorted(found)


def cpp_files(root):
    return [name for name in project_files(root) if name.endswith((".h", ".cpp"))]
