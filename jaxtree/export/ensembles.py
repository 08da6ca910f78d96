"""A tree or forest as a model of ONNX, which knows ensembles of trees.

The nodes are one `TreeEnsemble` (ai.onnx.ml, version 5), whose trees give the end where a row has arrived; what
is predicted there is looked up in a table of doubles. So shares and means are jaxtree's own numbers, and the sum over
the trees of a forest is made in the same order.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from jaxtree.errors import InvalidInputError, import_extra
from jaxtree.export.conditions import Question, questions_of_forest
from jaxtree.export.formulas import IN_ORDER, Operation, formula_of
from jaxtree.export.models import Planes, PlaneTermKind, best_of_search, exported_with_planes
from jaxtree.table.binning import round_down_to_float32
from jaxtree.table.schema import Column, Schema
from jaxtree.tree.link import Link, ScoreLink
from jaxtree.tree.model import FittedModel

LEQ, MEMBER = 0, 6
"""Codes of `TreeEnsemble` for a question with a limit, and for one about members of a set."""

SUM = 1
OPSETS = {"": 18, "ai.onnx.ml": 5}


def to_onnx(estimator: Any, *, dtype: Any = np.float32, no_missing: bool = False) -> Any:
    """Returns a fitted tree or forest as an `onnx.ModelProto`, which onnxruntime and others run.

    A table of numbers is one input `X` of shape (rows, columns), of NaN where a value is missing. A table with words
    has an input of shape (rows, 1) for every column, named as the column is: numbers, words as strings, truth values
    as numbers; a word that fit has not seen counts as missing, or as one of the rare words of its column if these share
    a category, and the empty string counts as missing unless fit has seen it.

    The outputs are `label` and `probabilities`, or for numbers `variable`. Shares and means are doubles. Boosted trees
    have the output `scores` besides, and it alone where the link of their loss has functions that ONNX does not have,
    as the mean of a Weibull distribution. The scores of a hardened forest with weights of leaves have been divided by
    these. The planes of a hardened oblique tree are one matrix product, whose sums may be rounded otherwise than
    jaxtree's.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or an oblique tree that `harden` made.
        dtype: The type of numbers. Thresholds in float32 are rounded down, so that every float32 falls on the same side
            as it does in jaxtree; in float64 they are exact, and every double does.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values and
            unseen words.

    Raises:
        InvalidInputError: The type is neither; or the estimator has several outputs, shares out rows with missing
            values, or has classes or categories that ONNX has no type for.
        InvalidTypeError: It is no tree or forest of jaxtree.
        MissingExtraError: The package onnx is not installed.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> model = to_onnx(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)))
        >>> [output.name for output in model.graph.output]
        ['label', 'probabilities']
    """
    estimator = best_of_search(estimator)
    onnx = import_extra("onnx", "to_onnx", "onnx")
    number = np.dtype(dtype)
    if number not in (np.float32, np.float64):
        raise InvalidInputError(f"dtype must be float32 or float64, got {number}")
    model, planes = exported_with_planes(estimator, no_missing=no_missing)
    schema = model.schema if planes is None else planes.schema
    for name in schema.column_names:
        if name in ("label", "probabilities", "variable", "scores") or name.startswith("jaxtree/"):
            raise InvalidInputError(f"a column is named {name!r}, which is the name of an output: rename it")
    if model.predicted_classes is not None:
        _classes(model.predicted_classes)  # refuses classes that are neither integers nor words
    graph = _Graph(onnx, number)
    values = _read_columns(graph, schema)
    if planes is not None:
        values = _sum_planes(graph, values, planes)
        graph.dtype = np.dtype(np.float64)
    _predict(graph, model, _walk(graph, values, model))
    made = onnx.helper.make_graph(graph.nodes, "jaxtree", graph.inputs, graph.outputs, graph.tables)
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    proto = onnx.helper.make_model(made, opset_imports=opsets, producer_name="jaxtree", ir_version=10)
    onnx.checker.check_model(proto)
    return proto


class _Graph:
    """The parts of a model while it is made; values go by names, "jaxtree/..." except those of inputs and outputs."""

    def __init__(self, onnx: Any, dtype: np.dtype):
        self.onnx, self.types = onnx, onnx.TensorProto
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.tables: list[Any] = []

    def add(self, made: str, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Adds a node that makes one value, and returns its name."""
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [made], domain=domain, **attributes))
        return made

    def table(self, name: str, values: Any) -> str:
        """Adds an array, and returns its name."""
        self.tables.append(self.tensor(name, values))
        return name

    def tensor(self, name: str, values: Any) -> Any:
        """An array as a tensor, such as attributes are."""
        return self.onnx.numpy_helper.from_array(np.asarray(values), name)

    def input(self, name: str, size: int, kind: int | None = None) -> str:
        """Adds an input of `size` columns, of numbers if no kind is given, and returns its name."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype) if kind is None else kind
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [None, size]))
        return name

    def output(self, name: str, kind: int, *sizes: int) -> None:
        """Adds an output of many rows."""
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [None, *sizes]))


def _read_columns(graph: _Graph, schema: Schema) -> str:
    """The inputs as one matrix of numbers and codes."""
    if all(column.kind == "numeric" for column in schema.columns):
        return graph.input("X", len(schema.columns))
    parts = [_read_column(graph, place, column) for place, column in enumerate(schema.columns)]
    return graph.add("jaxtree/values of all columns", "Concat", *parts, axis=1)


def _read_column(graph: _Graph, place: int, column: Column) -> str:
    """A column of numbers, or of the codes of its words, of its truth values, or of its categories that are numbers."""
    if column.kind == "numeric":
        return graph.input(column.name, 1)
    named, codes, rest = column.named_categories, list(range(len(column.categories))), np.nan
    is_text = column.kind != "boolean" and all(isinstance(category, str) for category in named)
    if column.rare_words is not None:
        is_text, rest = isinstance(column.rare_words.example, str), codes.pop()
        missing = "" if is_text else np.nan
        if missing not in named:
            named, codes = (*named, missing), [*codes, np.nan]
    categories, kind = np.array(named), None
    if is_text:
        kind, words = graph.types.STRING, [str(category).encode() for category in named]
        keys = graph.onnx.helper.make_tensor("keys", kind, [len(words)], words)
    elif categories.dtype.kind in "biuf" and np.array_equal(categories.astype(graph.dtype), categories, equal_nan=True):
        keys = graph.tensor("keys", categories.astype(graph.dtype))
    else:
        raise InvalidInputError(f"ONNX has no type for the categories of column {column.name!r}")
    return graph.add(
        f"jaxtree/codes of column {place}",
        "LabelEncoder",
        graph.input(column.name, 1, kind),
        domain="ai.onnx.ml",
        keys_tensor=keys,
        values_tensor=graph.tensor("values", np.array(codes, graph.dtype)),
        default_tensor=graph.tensor("default", np.array([rest], graph.dtype)),
    )


def _sum_planes(graph: _Graph, values: str, planes: Planes) -> str:
    """The planes of every row as a matrix of doubles: a linear operator on the terms, which are of float32."""
    double = graph.types.DOUBLE
    columns = graph.table("jaxtree/columns of terms", planes.column.astype(np.int64))
    doubles = graph.add("jaxtree/doubles", "Cast", values, to=double)
    value = graph.add("jaxtree/values of terms", "Gather", doubles, columns, axis=1)
    middle, unit = graph.table("jaxtree/middles", planes.middle), graph.table("jaxtree/units", planes.unit)
    is_missing = graph.add("jaxtree/is missing", "IsNaN", value)
    is_category = graph.add("jaxtree/is category", "Equal", value, middle)
    centred = graph.add("jaxtree/centred", "Sub", value, middle)
    scaled = graph.add("jaxtree/scaled", "Div", centred, unit)
    terms = graph.add("jaxtree/numbers", "Where", is_missing, graph.table("jaxtree/zero", np.zeros(1)), scaled)
    for kind, found in ((PlaneTermKind.CATEGORY, is_category), (PlaneTermKind.MISSING, is_missing)):
        is_kind = graph.table(f"jaxtree/terms of kind {kind}", planes.kind == kind)
        indicator = graph.add(f"{found}, 0 or 1", "Cast", found, to=double)
        terms = graph.add(f"jaxtree/terms with kind {kind}", "Where", is_kind, indicator, terms)
    rounded = graph.add("jaxtree/terms of float32", "Cast", terms, to=graph.types.FLOAT)
    terms = graph.add("jaxtree/terms", "Cast", rounded, to=double)
    normals = graph.table("jaxtree/normals", np.ascontiguousarray(planes.weight.T))
    sums = graph.add("jaxtree/sums of terms", "MatMul", terms, normals)
    return graph.add("jaxtree/planes", "Add", sums, graph.table("jaxtree/offsets", planes.offset))


def _walk(graph: _Graph, values: str, model: FittedModel) -> list[int]:
    """Adds the walks of every row through every tree, and returns the nodes that "jaxtree/ends" has places in."""
    questions, roots = questions_of_forest(model)
    is_end = np.array([question.is_end for question in questions])
    ends = [question.node for question in questions if question.is_end]
    for root in roots:  # a tree has an inner node, and of a leaf both branches lead to itself
        if is_end[root]:
            questions[root] = Question(0, np.inf, (), root, root, True, questions[root].node)
    first_end = (np.cumsum(is_end) - is_end)[roots]
    attributes = _ensemble(graph, questions, is_end, roots, first_end)
    end = graph.add("jaxtree/end of tree", "TreeEnsemble", values, domain="ai.onnx.ml", **attributes)
    number = graph.add("jaxtree/number in tree", "Cast", end, to=graph.types.INT64)
    graph.add("jaxtree/ends", "Add", number, graph.table("jaxtree/first ends", first_end))
    return ends


def _ensemble(
    graph: _Graph,
    questions: list[Question],
    is_end: Bool[np.ndarray, " question"],
    roots: list[int],
    first_end: Int[np.ndarray, " tree"],
) -> dict[str, Any]:
    """The attributes of `TreeEnsemble` by name; it numbers inner nodes and ends apart."""
    inner = [question for question in questions if not question.is_end]
    number = np.cumsum([not question.is_end for question in questions]) - 1
    number_of_following = np.where(is_end, np.cumsum(is_end) - 1, number)
    yes, no = ([getattr(question, answer) for question in inner] for answer in ("yes", "no"))
    limits = np.array([question.limit for question in inner])
    limits = round_down_to_float32(limits) if graph.dtype == np.float32 else limits
    members = [code for question in inner if question.codes for code in (*question.codes, np.nan)]
    tree_of_end = np.repeat(np.arange(len(roots)), np.diff(first_end, append=is_end.sum()))
    number_in_tree = np.arange(tree_of_end.size) - first_end[tree_of_end]
    attributes: dict[str, Any] = {
        "n_targets": len(roots),
        "aggregate_function": SUM,
        "post_transform": 0,
        "tree_roots": number[roots].tolist(),
        "nodes_featureids": [question.column for question in inner],
        "nodes_splits": graph.tensor("splits", limits.astype(graph.dtype)),
        "nodes_modes": graph.tensor("modes", np.array([MEMBER if q.codes else LEQ for q in inner], np.uint8)),
        "nodes_truenodeids": number_of_following[yes].tolist(),
        "nodes_falsenodeids": number_of_following[no].tolist(),
        "nodes_trueleafs": is_end[yes].astype(int).tolist(),
        "nodes_falseleafs": is_end[no].astype(int).tolist(),
        "nodes_missing_value_tracks_true": [int(question.missing_is_yes) for question in inner],
        "leaf_targetids": tree_of_end.tolist(),
        "leaf_weights": graph.tensor("weights", number_in_tree.astype(graph.dtype)),
    }
    if members:
        attributes["membership_values"] = graph.tensor("members", np.array(members, graph.dtype))
    return attributes


def _predict(graph: _Graph, model: FittedModel, ends: list[int]) -> None:
    """The outputs: the values of the ends, or their mean over the trees."""
    num_trees, values = len(model.forest), model.node_value[ends]
    said = graph.add("jaxtree/said of trees", "Gather", graph.table("jaxtree/said", values), "jaxtree/ends", axis=0)
    numbers = (num_trees - 1, 2**62, 1)
    last, end, axis = (f"jaxtree/number {number}" for number in numbers)
    for number in dict.fromkeys(numbers):  # of two trees the last is tree 1
        graph.table(f"jaxtree/number {number}", np.array([number], np.int64))
    # Sums in the order of the trees, of which the last is the sum of all.
    sums = graph.add("jaxtree/sums", "CumSum", said, graph.table("jaxtree/axis", np.array(1, np.int64)))
    whole = graph.add("jaxtree/sum of all", "Slice", sums, last, end, axis)
    whole = graph.add("jaxtree/sum", "Squeeze", whole, axis)
    name = "scores" if model.link else "probabilities" if model.classes else "variable"
    mean, num_columns = "jaxtree/means" if model.is_ratio else name, model.num_scores
    graph.add(mean, "Div", whole, graph.table("jaxtree/number of trees", np.array(float(num_trees))))
    if model.is_ratio:
        sizes = graph.table("jaxtree/scores and weight", np.array([num_columns, 1], np.int64))
        weighted, weight = "jaxtree/weighted scores", "jaxtree/weight"
        graph.nodes.append(graph.onnx.helper.make_node("Split", [mean, sizes], [weighted, weight], axis=1))
        graph.add(name, "Div", weighted, weight)
    if model.classes:
        _predict_label(graph, model, ends)
    if model.link:
        _predict_from_scores(graph, model.link, num_columns)
    graph.output(name, graph.types.DOUBLE, num_columns)


_OPERATORS = {Link.IDENTITY: "Identity", Link.EXP: "Exp", Link.LOGISTIC: "Sigmoid", Link.SOFTMAX: "Softmax"}


def _predict_from_scores(graph: _Graph, link: ScoreLink, num_scores: int) -> None:
    """The outputs that follow from "scores"; none if ONNX does not have the link."""
    if link.kind == Link.OTHER:
        _predict_by_formula(graph, link, num_scores)
        return
    axis = graph.table("jaxtree/axis of scores", np.array([1], np.int64))
    first, end = (graph.table(f"jaxtree/scores {at}", np.array([at], np.int64)) for at in (0, link.num_predictions))
    scores = graph.add("jaxtree/scores of predictions", "Slice", "scores", first, end, axis)
    options: dict[str, Any] = {"axis": 1} if link.kind == Link.SOFTMAX else {}
    name = "variable" if link.classes is None else "probabilities"
    if link.classes is None or link.kind == Link.SOFTMAX:
        graph.add(name, _OPERATORS[link.kind], scores, **options)
    else:
        of_second = graph.add("jaxtree/probability", _OPERATORS[link.kind], scores)
        of_first = graph.add("jaxtree/rest", "Sub", graph.table("jaxtree/one", np.ones(1)), of_second)
        graph.add(name, "Concat", of_first, of_second, axis=1)
    if link.classes is not None:
        place = graph.add("jaxtree/place", "ArgMax", name, axis=1, keepdims=0)
        _label(graph, _classes(link.classes), place)
    graph.output(name, graph.types.DOUBLE, link.num_predictions if link.classes is None else len(link.classes))


_STEPS = {
    **{name: name.capitalize() for name in ("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "abs", "pow")},
    **{"max": "Max", "min": "Min", "tanh": "Tanh", "logistic": "Sigmoid"},
    **{"gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual", "eq": "Equal"},
}
"""The operators of ONNX that do what a step of a formula does."""


def _predict_by_formula(graph: _Graph, link: ScoreLink, num_scores: int) -> None:
    """The output "variable" by what JAX traces of a link; none if ONNX has no such operators."""
    formula = formula_of(link, num_scores, {*_STEPS, "ne", "select_n", IN_ORDER})
    if formula is None or link.classes is not None:
        return
    places = [graph.table(f"jaxtree/score {place}", np.array([place], np.int64)) for place in range(num_scores)]
    scores = [graph.add(f"jaxtree/{name}", "Gather", "scores", name, axis=1) for name in places]
    names = map("jaxtree/link {}".format, itertools.count())

    def number(value: float) -> str:
        return graph.table(next(names), np.full((1, 1), value))

    def write(step: Operation, arguments: list[str]) -> str:
        if step.name == IN_ORDER:
            return _value_in_order(graph, names, arguments[:-1], int(step.arguments[-1]))
        if step.name == "ne":
            return graph.add(next(names), "Not", graph.add(next(names), "Equal", *arguments))
        if step.name == "select_n":
            is_second, first, second = arguments
            return graph.add(next(names), "Where", is_second, second, first)
        return graph.add(next(names), _STEPS[step.name], *arguments)

    graph.add("variable", "Concat", *formula.written(scores, number, write), axis=1)
    graph.output("variable", graph.types.DOUBLE, len(formula.predictions))


def _value_in_order(graph: _Graph, names: Iterator[str], values: list[str], place: int) -> str:
    """The value at a place, from 0, when several stand in ascending order: the last of the least ones."""
    together = graph.add(next(names), "Concat", *values, axis=1)
    number, last = (graph.table(next(names), np.array([at], np.int64)) for at in (place + 1, place))
    least = [next(names), next(names)]
    made = graph.onnx.helper.make_node("TopK", [together, number], least, axis=1, largest=0, sorted=1)
    graph.nodes.append(made)
    return graph.add(next(names), "Gather", least[0], last, axis=1)


def _predict_label(graph: _Graph, model: FittedModel, ends: list[int]) -> None:
    classes = _classes(model.classes[0])
    if model.node_label is None:
        place = graph.add("jaxtree/place", "ArgMax", "probabilities", axis=1, keepdims=0)
    else:
        axis = graph.table("jaxtree/axis of trees", np.array([1], np.int64))
        end = graph.add("jaxtree/end", "Squeeze", "jaxtree/ends", axis)
        labels = graph.table("jaxtree/labels", model.node_label[0, ends].astype(np.int64))
        place = graph.add("jaxtree/place", "Gather", labels, end, axis=0)
    _label(graph, classes, place)


def _label(graph: _Graph, classes: np.ndarray, place: str) -> None:
    """The output of the class at a place."""
    graph.add("label", "Gather", graph.table("jaxtree/classes", classes), place, axis=0)
    graph.output("label", graph.types.STRING if classes.dtype == object else graph.types.INT64)


def _classes(classes: np.ndarray) -> np.ndarray:
    """The classes as integers or words, which is what ONNX has."""
    if classes.dtype.kind in "biu":
        return classes.astype(np.int64)
    if all(isinstance(name, str) for name in classes.tolist()):
        return classes.astype(object)
    raise InvalidInputError(f"ONNX has labels of integers and words, and the classes are {classes.dtype}")
