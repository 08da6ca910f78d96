"""A command keeps in a model how the text of its table was read, and changes no other model."""

import copy

import pytest

import jaxtree
from jaxtree.cli.session import TextOptions
from jaxtree.errors import ModelFileError
from jaxtree.files.container import read_model_file, write_model_file
from tests.examples import example

OPTIONS = TextOptions(missing=["?"], decimal=",", thousands=".")


@pytest.mark.parametrize("name", ["cart", "boosted"])
def test_a_file_keeps_notes_and_no_other_model_has_them(name, tmp_path):
    model = copy.copy(example(name))
    model.file_notes_ = OPTIONS.kept
    model.save(tmp_path / "m")
    again = jaxtree.load(tmp_path / "m")
    assert again.file_notes_ == {"missing": ["?"], "decimal": ",", "thousands": "."}
    assert not example(name).file_notes_
    example(name).save(tmp_path / "m")
    assert "notes" not in read_model_file(tmp_path / "m").header and not jaxtree.load(tmp_path / "m").file_notes_


def test_notes_that_are_no_object_are_refused(tmp_path):
    example("cart").save(tmp_path / "m")
    content = read_model_file(tmp_path / "m")
    write_model_file(tmp_path / "m", content._replace(header={**content.header, "notes": ["?"]}))
    with pytest.raises(ModelFileError, match="its notes are no object"):
        jaxtree.load(tmp_path / "m")


def test_options_that_are_given_count_before_those_of_the_fit():
    assert TextOptions().kept == {} and TextOptions().or_of_fit({}) == TextOptions()
    assert TextOptions().or_of_fit(OPTIONS.kept) == OPTIONS
    assert TextOptions(missing=["-"]).or_of_fit(OPTIONS.kept) == TextOptions(["-"], None, ",", ".")
    # Marks of numbers are given together: a point is either before decimals or between thousands.
    assert TextOptions(thousands=",").or_of_fit(OPTIONS.kept) == TextOptions(["?"], None, ".", ",")


@pytest.mark.parametrize("notes", [{"missing": "?"}, {"missing": [1]}, {"decimal": "x"}, {"thousands": 3}])
def test_notes_that_are_no_options_are_refused(notes):
    with pytest.raises(ModelFileError, match="options of text that are none"):
        TextOptions().or_of_fit(notes)
