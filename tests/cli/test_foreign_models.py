"""Models of other libraries in the commands that read a model file."""

import base64
import json
import pathlib

import pytest

FILES = pathlib.Path(__file__).parents[1] / "foreign" / "files"
ROWS = "size,color,number,y\n0.5,red,1,1.5\n-1.25,blue,4,0.5\n,green,2,1\n"


@pytest.fixture
def rows(tmp_path):
    """A table with the columns of the models."""
    (tmp_path / "rows.csv").write_text(ROWS)
    return "rows.csv"


@pytest.fixture(params=["xgboost-3.2.0-words", "lightgbm-3.3.5-words", "catboost-1.2.10-words"])
def model(request, tmp_path):
    """A file as each library writes it."""
    content = json.loads((FILES / f"{request.param}.json").read_text())["model"]
    (tmp_path / "model").write_text(content if isinstance(content, str) else json.dumps(content))
    return "model"


def test_commands_read_models_of_other_libraries(run, model, rows):
    assert "color" in run("show", model, "--tree", 0).stdout
    run("show", model, "--html", "page.html", "--data", rows, "--target", "y")
    assert pathlib.Path("page.html").stat().st_size > 10_000
    predicted = run("predict", model, rows).stdout.splitlines()
    assert predicted[0] == "prediction" and len(predicted) == 4
    explained = run("explain", model, rows, "--rows", "all", "--format", "jsonl").stdout.splitlines()
    for number, line in zip(predicted[1:], explained, strict=True):
        assert json.loads(line)["prediction"] == pytest.approx(float(number), rel=1e-5)
    assert "row 1:" in run("explain", model, rows, "--shap").stdout
    for form in ("c", "sql", "onnx"):
        run("export", model, "--to", form, "-o", f"model.{form}")
        assert pathlib.Path(f"model.{form}").stat().st_size > 500


def test_a_binary_file_of_xgboost_is_read(run, tmp_path):
    content = json.loads((FILES / "xgboost-1.7.6-ubjson.json").read_text())["model"]
    (tmp_path / "model.ubj").write_bytes(base64.b64decode(content))
    assert "x2 <= " in run("show", "model.ubj", "--tree", 0).stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"learner": 3}', "it has no 'learner_model_param'"),
        (b'{"something": 3}', "it has no 'features_info'"),
        (b"{" * 5000, "it is no JSON"),
        (b"tree\nversion=v4\n", "max_feature_idx must be a whole number"),
        (b"{L\0\0\0\0\0\0\0\7learner[", "cut short"),
    ],
)
def test_broken_files_end_in_a_line(run, tmp_path, content, words):
    (tmp_path / "model").write_bytes(content)
    done = run("show", "model", status=1)
    assert words in done.stderr and "Traceback" not in done.stderr
