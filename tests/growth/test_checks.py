"""Every field of every bundle that growth takes is checked: its type, its shape, its values, and beside the others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import criteria
from jaxtree.boosting import Newton, Penalties
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Selection, Sizes, SplitKind, grow
from jaxtree.growth.inputs.checks import check_bundles, check_rules

FEATURES, ROWS, BINS, ROOTS = 3, 6, 4, 2


def i32(*values):
    return np.array(values, np.int32)


ALL = {
    "data": Data(
        np.array([[0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 2, 3], [1, 0, 1, 0, 1, 0]], np.uint8),
        i32(0, 1, 1, 0, 1, 0),
        weight=np.array([1.0, 2.0, 0.0, 1.0]),
        row=i32(0, 5, 1, 2),
        root=i32(0, 1, 1, 0),
    ),
    "features": Features(
        i32(0, 0, SplitKind.ONE_VS_REST),
        num_codes=i32(3, 4, 2),
        num_values=i32(3, 3, 2),
        monotone=i32(1, -1, 0),
        in_average=np.ones(FEATURES, bool),
        next_separable=np.tile(np.arange(1, BINS + 1, dtype=np.int32), (FEATURES, 1)),
        position=np.tile(np.arange(BINS, dtype=np.float64), (FEATURES, 1)),
        sets=np.ones((FEATURES, 1), np.uint32),
    ),
    "limits": Limits(),
    "rules": Rules(Classes(2)),
    "sizes": Sizes(BINS, 16, ROOTS, entry_capacity=8),
}
CLASSES = ALL["data"].target
NUMBERS = dict(rules=Rules(Numbers()), data=ALL["data"]._replace(target=np.arange(6.0)))
NEWTON = dict(rules=Rules(Newton()), data=ALL["data"]._replace(target=np.ones((2, ROWS))))
TABLES = {name: getattr(ALL["features"], name) for name in ("next_separable", "position", "sets")}
WRONG_TYPES = {
    ("data", "codes"): (ALL["data"].codes.tolist(), ALL["data"].codes.astype(np.int32), np.zeros((3, 6))),
    ("data", "target"): (CLASSES.tolist(), CLASSES.astype(float), np.array(["a"] * ROWS)),
    ("data", "weight"): ([1.0] * 4, np.array(["1"] * 4), np.ones(4, complex), np.ones(4, bool)),
    ("data", "row"): ([0, 1, 2, 3], np.zeros(4), np.zeros(4, bool)),
    ("data", "root"): ([0, 1, 0, 1], np.zeros(4)),
    ("data", "entry_target"): ([0, 1, 0, 1], np.array(list("abcd"))),
    ("features", "split_kind"): ([0, 0, 0], np.zeros(3)),
    ("features", "num_codes"): ([3, 4, 2], np.full(3, 4.0)),
    ("features", "num_values"): ([3, 3, 2], np.full(3, 3.0)),
    ("features", "monotone"): ([0, 0, 0], np.zeros(3)),
    ("features", "in_average"): ([True] * 3, np.ones(3, np.int32)),
    ("features", "next_separable"): (TABLES["next_separable"].tolist(), TABLES["next_separable"].astype(float)),
    ("features", "position"): (TABLES["position"].tolist(), TABLES["position"].astype(str)),
    ("features", "sets"): (TABLES["sets"].tolist(), TABLES["sets"].astype(np.int64)),
    ("rules", "objective"): (None, "gini", 2),
    **{("limits", name): (None, "2", True, [2], np.array(["2"])) for name in Limits._fields[:-1]},
    ("limits", "max_depth"): (2.5, np.inf, np.full(ROOTS, 2.0)),
    ("limits", "max_features"): (0.5,),
    ("limits", "parameters"): (None, "1", ("1",), [1.0]),
    **{("rules", name): (1, None, "yes") for name in ("counts_rows", "samples_features", "samples_levels")},
    **{
        ("rules", name): (1, None, "yes")
        for name in ("samples_thresholds", "draws_ties", "draws_scores", "grows_best_first")
    },
    **{("sizes", name): (2.0, "2", True) for name in Sizes._fields},
}
WRONG_SHAPES = {
    ("data", "codes"): (np.zeros(6, np.uint8), np.zeros((3, 6, 1), np.uint8), np.zeros((3, 5), np.uint8)),
    ("data", "target"): (
        i32(0, 1),
        np.zeros((2, ROWS), np.int32),
        np.zeros((1, ROWS, 1), np.int32),
        np.array(0),
    ),
    ("data", "weight"): (np.ones(3), np.ones((4, 1)), np.ones(ROWS)),
    ("data", "row"): (np.zeros((4, 1), np.int32), np.array(0)),
    ("data", "root"): (np.zeros((4, 1), np.int32), np.zeros(3, np.int32)),
    ("data", "entry_target"): (np.zeros(3), np.zeros((2, 4))),
    **{
        ("features", name): (getattr(ALL["features"], name)[:2], np.tile(getattr(ALL["features"], name), (2, 1)))
        for name in ("split_kind", "num_codes", "num_values", "monotone", "in_average")
    },
    **{("features", name): (own[:2], own[:, : min(BINS, own.shape[1]) - 1], own[0]) for name, own in TABLES.items()},
    **{("limits", name): (np.full(3, 2, np.int32), np.full((ROOTS, 1), 2, np.int32)) for name in Limits._fields[:-1]},
    ("limits", "parameters"): (np.ones((3, 3)), np.ones((1, 1, 3)), np.array(1.0)),
}
WRONG_VALUES = {
    ("data", "codes"): (np.full((3, 6), BINS, np.uint8), np.full((3, 6), 2, np.uint8)),
    ("data", "target"): (CLASSES + 1, CLASSES - 1),
    ("data", "weight"): (np.array([1.0, -1, 1, 1]), np.array([1.0, np.nan, 1, 1]), np.array([1.0, np.inf, 1, 1]),
                         np.full(4, 1e308), i32(1, -1, 1, 1), np.full(4, 2**30), np.full(4, 2**32)),
    ("data", "row"): (i32(0, 1, 2, ROWS), i32(0, 1, 2, -1), np.array([0, 1, 2, 2**32])),
    ("data", "root"): (i32(0, 1, 1, ROOTS), i32(0, 1, 1, -1), np.array([0, 1, 1, 2**32])),
    ("features", "split_kind"): (i32(0, 0, -1), i32(0, 0, len(SplitKind))),
    ("features", "num_codes"): (i32(3, 4, -1), i32(3, BINS + 1, 2), i32(2, 4, 2)),
    ("features", "num_values"): (i32(3, 2, 2), i32(4, 3, 2), i32(3, 3, -1)),
    ("features", "monotone"): (i32(2, 0, 0), i32(-2, 0, 0), i32(0, 0, 1)),
    ("features", "in_average"): (),
    ("features", "next_separable"): (),
    ("features", "position"): (-TABLES["position"], np.where(TABLES["position"] == 1, np.nan, TABLES["position"]),
                               np.where(TABLES["position"] == 2, np.inf, TABLES["position"])),
    ("features", "sets"): (),
    **{("limits", name): (np.nan, i32(2, -1), -1, -np.inf) for name in ("min_samples_split", "min_samples_leaf")},
    **{("limits", name): (np.nan, np.array([0, np.nan])) for name in ("min_gain", "min_impurity_decrease")},
    ("limits", "min_weight_leaf"): (np.nan, -1.0),
    ("limits", "max_depth"): (-1, i32(2, -1), 2**31),
    ("limits", "max_features"): (0, -1, 2**40),
    ("limits", "level_features"): (0, -1, 2**40),
    ("limits", "max_leaf_nodes"): (0, -1, 2**40),
    ("limits", "mdl_correction"): (np.nan, -1, 2),
    ("limits", "num_declared_classes"): (np.nan, -1),
    ("limits", "parameters"): ((np.nan,), np.array([1.0, np.nan])),
    ("rules", "objective"): (),
    ("rules", "missing"): (3, -1, "LEARN", None, True),
    ("rules", "selection"): (3, -1, "GAIN", None),
    ("rules", "kinds"): ([SplitKind.THRESHOLD], (7,), "THRESHOLD"),
    ("sizes", "num_bins"): (0, -1, 2**16 + 1),
    ("sizes", "capacity"): (0, ROOTS - 1, 2**31),
    ("sizes", "num_roots"): (0, -1, 1),
    ("sizes", "entry_capacity"): (0, 3),
}  # fmt: skip


def grow_with(**changed):
    """Hands growth the bundles, of which some are replaced; it is not reached where a check raises."""
    given = ALL | changed
    return grow(*(given[name] for name in ALL))


def test_the_bundles_are_right():
    check_bundles(**ALL)
    grown = grow_with()
    assert grown.complete and grown.tree.num_nodes >= ROOTS


def test_every_field_has_wrong_values():
    named = {key for table in (WRONG_TYPES, WRONG_SHAPES, WRONG_VALUES) for key in table}
    fields = {(bundle, name) for bundle, own in ALL.items() for name in own._fields}
    assert named == fields


@pytest.mark.parametrize(
    ("cases", "error"),
    [(WRONG_TYPES, InvalidTypeError), (WRONG_SHAPES, InvalidInputError), (WRONG_VALUES, InvalidInputError)],
    ids=["types", "shapes", "values"],
)
@pytest.mark.parametrize("library", [np, jnp], ids=["numpy", "jax"])
def test_what_is_wrong_in_one_field_is_named(cases, error, library):
    for (bundle, name), wrong in cases.items():
        for value in wrong:
            if library is jnp:
                if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufc":
                    continue
                with jax.enable_x64(True):
                    value = jnp.asarray(value)
            given = ALL | {bundle: ALL[bundle]._replace(**{name: value})}
            words = "num_roots|root" if name == "num_roots" else "codes of feature|" + name
            with pytest.raises(error, match=words):
                check_bundles(**given)
                pytest.fail(f"{bundle}.{name} = {value!r} is taken")


@pytest.mark.parametrize("bundle", ALL)
def test_a_bundle_of_another_kind(bundle):
    with pytest.raises(InvalidTypeError, match=f"{bundle} must be"):
        check_bundles(**ALL | {bundle: 3})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (dict(rules=Rules(Classes(1)), data=ALL["data"]._replace(target=0 * CLASSES)), "share of class 1"),
        (dict(rules=Rules(Classes(2), selection=Selection.GAIN_RATIO),
              features=ALL["features"]._replace(in_average=np.zeros(3, bool))), "in_average must be true for some"),
        (NUMBERS | dict(data=ALL["data"]._replace(target=np.array([0, np.nan, 2, 3, 4, 5]), row=i32(0, 5, 1, 1))),
         "got nan"),
        (NUMBERS | dict(data=ALL["data"]._replace(target=np.array([0, 1, 2, 3, 4, np.inf]))), "got inf"),
        (dict(rules=Rules(Numbers(criteria.poisson)), data=ALL["data"]._replace(target=-np.ones(6))), "from 0 on"),
        (NEWTON, "3 numbers of Penalties, got 0"),
        (NEWTON | dict(limits=Limits(parameters=(1.0,))), "3 numbers of Penalties, got 1"),
        (NEWTON | dict(limits=Limits(parameters=Penalties(l2=-1.0))), "l2 must be"),
        (NEWTON | dict(limits=Limits(parameters=Penalties(max_step=0.0))), "max_step must be"),
        (NEWTON | dict(limits=Limits(parameters=np.ones((ROOTS, 2)))), "3 numbers of Penalties, got 2"),
        (dict(rules=Rules(Newton()), limits=Limits(parameters=Penalties()),
              data=ALL["data"]._replace(target=-np.ones((2, ROWS)))), "second derivatives"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together(changed, words):
    with pytest.raises(InvalidInputError, match=words):
        grow_with(**changed)


@pytest.mark.parametrize("shape", [(2, 0), (0, 4), (0, 0)])
@pytest.mark.parametrize("library", [np, jnp])
def test_a_table_has_a_feature_and_a_row(shape, library):
    data = Data(library.zeros(shape, np.uint8), library.zeros(shape[1], np.int32))
    with pytest.raises(InvalidInputError, match="codes must have a feature and a row at least"):
        grow(data, None, Limits(), Rules(Classes(2)), Sizes(num_bins=2, capacity=8))


def test_a_growth_has_an_entry():
    nothing = ALL["data"]._replace(row=i32(), weight=None, root=None)
    with pytest.raises(InvalidInputError, match=r"row must have one entry or more, got the shape \(0,\)"):
        grow_with(data=nothing, sizes=Sizes(BINS, 16, ROOTS))


def test_padding_may_hold_anything():
    """Values that no entry of some weight reads are not looked at: targets of rows without weight, positions past all
    codes."""
    target = np.where(np.arange(ROWS) == 3, np.nan, 1.0)
    data = ALL["data"]._replace(target=target, row=i32(0, 5, 3, 2), weight=np.array([1.0, 1.0, 0.0, 1.0]))
    position = np.where(np.arange(BINS) < np.array([[3], [3], [0]]), TABLES["position"], np.nan)
    check_bundles(**ALL | NUMBERS | dict(data=data, features=ALL["features"]._replace(position=position)))


@pytest.mark.parametrize("make", [lambda: Classes(0), lambda: Classes(2, num_outputs=0),
                                  lambda: Numbers(num_outputs=0), lambda: Newton(0), lambda: Newton(3, 2)])  # fmt: skip
def test_objectives_of_nothing(make):
    with pytest.raises(InvalidInputError, match="num_"):
        make()


def test_shapes_are_checked_under_a_trace():
    """Values of traced arrays are not known, but their shapes and types are."""

    @jax.jit
    def grown(row):
        return grow_with(data=ALL["data"]._replace(row=row)).tree.num_nodes

    with pytest.raises(InvalidInputError, match=r"row must have the shape \(entry,\)"):
        grown(jnp.zeros((4, 1), jnp.int32))


def test_a_raw_key_is_named():
    raw = jax.random.key_data(jax.random.key(0))
    from jaxtree.growth.loop.grow import root_seeds

    with pytest.raises((InvalidTypeError, TypeError), match="key"):
        root_seeds(raw, 2)


def test_enumerations_may_be_their_numbers():
    check_rules(Rules(Classes(2), missing=Missing(1), selection=Selection(2), kinds=(SplitKind.SUBSET,)))
