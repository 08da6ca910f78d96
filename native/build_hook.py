"""A build hook of hatchling: puts the kernel in C++ into the wheel where it can be compiled.

Where they cannot, the wheel is built without them, and the log of the build says so.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "jaxtree_native"
HEADERS = "jax==0.10.*"
"""The oldest JAX on which jaxtree runs: XLA refuses kernels that were compiled with headers newer than its own."""


def has_compiler() -> bool:
    """Whether the compiler that `CXX` names, or a usual one, is on the path."""
    named = os.environ.get("CXX", "").split()[:1]
    return any(map(shutil.which, named or ("c++", "g++", "clang++")))


def compile_into(folder: Path) -> Path:
    """Compiles the kernel and returns the Python package that contains them, a folder."""
    sources, build = Path(__file__).parent, folder / "build"
    settings = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    for command in (
        ["cmake", "-S", sources, "-B", build, "-G", "Ninja", *settings],
        ["cmake", "--build", build],
        ["cmake", "--install", build, "--prefix", folder],
    ):
        subprocess.run(command, check=True)
    return folder / PACKAGE


class KernelsHook(BuildHookInterface):
    """Compiles before hatchling collects the files of a wheel."""

    def dependencies(self) -> list[str]:
        """What a build needs beside hatchling: nothing without a compiler."""
        if not has_compiler():
            return []
        return [HEADERS, *(tool for tool in ("cmake", "ninja") if shutil.which(tool) is None)]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the compiled package to the wheel, which then is for this platform only."""
        self.folder = tempfile.TemporaryDirectory()
        if not has_compiler():
            self.app.display_warning("jaxtree is built without its kernel in C++: no compiler found")
            return
        try:
            package = compile_into(Path(self.folder.name))
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"jaxtree is built without its kernel in C++: {type(error).__name__}, see above")
            return
        # An editable wheel contains the compiled package, and finds the rest in the checkout.
        included = "force_include_editable" if version == "editable" else "force_include"
        build_data[included][str(package)] = PACKAGE
        build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what was compiled once the wheel contains it."""
        self.folder.cleanup()
