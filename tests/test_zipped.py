"""The package where it is no folder of files: inside a zip archive, as bundles of applications have it."""

import subprocess
import sys
import zipfile

from tests.test_house import PACKAGE

SCRIPT = """
import sys

sys.path.insert(0, sys.argv[1])
import jaxtree
import jaxtree.explain

assert jaxtree.__file__.startswith(sys.argv[1])
assert "shap_values" in dir(jaxtree.explain)
X, y = jaxtree.datasets.load_watermelon(return_X_y=True)
print(jaxtree.DecisionTreeClassifier().fit(X, y).score(X, y))
"""


def test_a_zipped_package_works_as_a_folder_does(tmp_path):
    archive = tmp_path / "jaxtree.zip"
    with zipfile.ZipFile(archive, "w") as written:
        for file in PACKAGE.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                written.write(file, file.relative_to(PACKAGE.parent))
    command = [sys.executable, "-I", "-c", SCRIPT, str(archive)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "1.0\n"
