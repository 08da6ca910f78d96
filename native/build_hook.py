"""A build hook of hatchling: puts the kernel in C++ into the wheel, and says what the wheel is.

`JAXTREE_BUILD=release` makes a wheel to publish, for one platform and every Python, and fails without the kernel;
`JAXTREE_BUILD=pure` makes one to publish without the kernel, for every platform. Without the variable the wheel is for
whoever installs from the sources: it has the studies, and the kernel where it can be compiled.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "jaxtree_native"
STUDIES = "jaxtree_studies"
HEADERS = "jaxlib==0.10.*"
"""The oldest JAX on which jaxtree runs: XLA refuses kernels that were compiled with headers newer than its own."""

MACOS = "11.0"
"""The oldest macOS on which the kernel runs, that of JAX's own wheels."""

KINDS = ("release", "pure", "")
"""What `JAXTREE_BUILD` may be."""


def compiler() -> str | None:
    """Returns the compiler that `CXX` names, or a usual one, if it is on the path."""
    named = os.environ.get("CXX", "").split()[:1]
    usual = ("clang-cl",) if sys.platform == "win32" else ("c++", "g++", "clang++")
    return next(filter(shutil.which, named or usual), None)


def platform_tag() -> str:
    """Returns the platform of a wheel with the kernel, such as linux_x86_64."""
    if sys.platform == "darwin":
        return f"macosx_{MACOS}_{platform.machine()}".replace(".", "_")
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def compile_into(folder: Path) -> Path:
    """Compiles the kernel and returns the Python package that contains it, a folder."""
    sources, build = Path(__file__).parent, folder / "build"
    settings = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    if sys.platform == "darwin":
        settings += [f"-DCMAKE_OSX_DEPLOYMENT_TARGET={MACOS}", f"-DCMAKE_OSX_ARCHITECTURES={platform.machine()}"]
    if sys.platform == "win32":
        settings.append(f"-DCMAKE_CXX_COMPILER={compiler()}")
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
        """What a build needs beside hatchling: nothing without a compiler, or where the kernel is not wanted."""
        if compiler() is None or os.environ.get("JAXTREE_BUILD") == "pure":
            return []
        return [HEADERS, *(tool for tool in ("cmake", "ninja") if shutil.which(tool) is None)]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the compiled package to the wheel, which then is for this platform only, and the studies."""
        self.folder = tempfile.TemporaryDirectory()
        kind = os.environ.get("JAXTREE_BUILD", "")
        if kind not in KINDS:
            self.app.abort(f"JAXTREE_BUILD must be release, pure or not set, got {kind!r}")
        # An editable wheel contains the compiled package, and finds the rest in the checkout.
        is_editable = version == "editable"
        included = build_data["force_include_editable" if is_editable else "force_include"]
        if kind == "" and not is_editable:
            included[str(Path(self.root, "studies", STUDIES))] = STUDIES
        reason = "JAXTREE_BUILD=pure" if kind == "pure" else self.add_kernel(included, build_data)
        if reason and kind == "release":
            self.app.abort(
                f"a wheel to publish needs the kernel in C++: {reason}; JAXTREE_BUILD=pure makes one without"
            )
        if reason:
            self.app.display_warning(f"jaxtree is built without its kernel in C++: {reason}")
        else:
            self.app.display_info(f"jaxtree is built with its kernel in C++, for {platform_tag()} and any Python")

    def add_kernel(self, included: dict[str, str], build_data: dict[str, Any]) -> str:
        """Adds the compiled package and returns "", or why it is not there."""
        if compiler() is None:
            return "no compiler found"
        try:
            package = compile_into(Path(self.folder.name))
        except (OSError, subprocess.CalledProcessError) as error:
            return f"{type(error).__name__}, see above"
        included[str(package)] = PACKAGE
        # It is loaded by ctypes, and knows nothing of Python.
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-{platform_tag()}"
        return ""

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what was compiled once the wheel contains it."""
        self.folder.cleanup()
