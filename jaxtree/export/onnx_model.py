"""A tree or forest as an ONNX model.

Its nodes are one `TreeEnsemble` (ai.onnx.ml, version 5), whose trees give the end where a row has arrived; what is
predicted there is looked up in a table of doubles. So shares and means are jaxtree's own numbers, and the sum over the
trees of a forest is made in the same order.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.errors import InvalidInputError, MissingExtraError
from jaxtree.export.conditions import Question, questions_of
from jaxtree.export.models import Planes, TermKind, exported_with_planes
from jaxtree.table.binning import round_down_to_float32
from jaxtree.table.schema import Column, Schema
from jaxtree.tree import FittedModel

LEQ, MEMBER = 0, 6
"""Codes of `TreeEnsemble` for a question with a limit, and for one about members of a set."""

SUM = 1
OPSETS = {"": 18, "ai.onnx.ml": 5}


class _Ends(NamedTuple):
    """The ends of all trees, one after another.

    Attributes:
        shares: The values of every end.
        labels: The class there, for a single tree.
        first: The first end of every tree.
    """

    shares: Float[np.ndarray, "end column"]
    labels: Int[np.ndarray, " end"] | None
    first: Int[np.ndarray, " tree"]


def to_onnx(estimator: Any, *, dtype: Any = np.float32, no_missing: bool = False) -> Any:
    """Returns a fitted tree or forest as an `onnx.ModelProto`, which onnxruntime and others run.

    A table of numbers is one input `X` of shape (rows, columns), of NaN where a value is missing. A table with words
    has an input of shape (rows, 1) for every column, named as the column is: numbers, words as strings, truth values
    as numbers; a word that fit has not seen counts as missing, and the empty string does so unless fit has seen it.

    The outputs are `label` and `probabilities`, or for numbers `variable`. Shares and means are doubles. The planes of
    a hardened oblique tree are one matrix product, whose sums may be rounded otherwise than jaxtree's.

    Args:
        estimator: A fitted tree or forest of one output, or an oblique tree that `harden` made.
        dtype: The type of numbers. Of float32 thresholds are rounded down, so that every float32 falls on the same side
            as it does in jaxtree; of float64 they are what they are, and every double does.
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
    try:
        import onnx
    except ImportError as error:
        raise MissingExtraError('ONNX needs its package: pip install "jaxtree[onnx]"') from error
    number = np.dtype(dtype)
    if number not in (np.float32, np.float64):
        raise InvalidInputError(f"dtype must be float32 or float64, got {number}")
    model, planes = exported_with_planes(estimator)
    table = model.schema if planes is None else planes.schema
    graph = _Graph(onnx, number)
    values = graph.read(table)
    if planes is not None:
        values = graph.sum_planes(values, planes)
    ends = graph.walk(values, model, no_missing=no_missing)
    graph.predict(model, ends)
    _check_names(table)
    made = onnx.helper.make_graph(graph.nodes, "jaxtree", graph.inputs, graph.outputs, graph.tables)
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    model = onnx.helper.make_model(made, opset_imports=opsets, producer_name="jaxtree", ir_version=10)
    onnx.checker.check_model(model)
    return model


def _check_names(schema: Schema) -> None:
    """Raises InvalidInputError if a column has the name of something else in the model."""
    for name in schema.column_names:
        if name in ("label", "probabilities", "variable") or name.startswith("jaxtree/"):
            raise InvalidInputError(f"a column is named {name!r}, which is the name of an output: rename it")


class _Graph:
    """The parts of a model while it is made."""

    def __init__(self, onnx: Any, dtype: np.dtype):
        self._onnx = onnx
        self._dtype = dtype
        self._type = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.tables: list[Any] = []

    def read(self, schema: Schema) -> str:
        """The inputs as one matrix of numbers and codes."""
        if all(column.kind == "numeric" for column in schema.columns):
            self._input("X", self._type, len(schema.columns))
            return "X"
        parts = [self._read_column(place, column) for place, column in enumerate(schema.columns)]
        self._node("Concat", parts, ["jaxtree/values of all columns"], axis=1)
        return "jaxtree/values of all columns"

    def sum_planes(self, values: str, planes: Planes) -> str:
        """The planes of every row as a matrix of doubles: a linear operator on the terms, which are of float32."""
        tensor = self._onnx.TensorProto
        column = self._table("jaxtree/columns of terms", planes.column.astype(np.int64))
        self._node("Cast", [values], ["jaxtree/doubles"], to=tensor.DOUBLE)
        self._node("Gather", ["jaxtree/doubles", column], ["jaxtree/values of terms"], axis=1)
        middle = self._table("jaxtree/middles", planes.middle)
        self._node("IsNaN", ["jaxtree/values of terms"], ["jaxtree/is missing"])
        self._node("Equal", ["jaxtree/values of terms", middle], ["jaxtree/is category"])
        self._node("Sub", ["jaxtree/values of terms", middle], ["jaxtree/centred"])
        self._node("Div", ["jaxtree/centred", self._table("jaxtree/units", planes.unit)], ["jaxtree/scaled"])
        zero = self._table("jaxtree/zero", np.zeros(1))
        self._node("Where", ["jaxtree/is missing", zero, "jaxtree/scaled"], ["jaxtree/numbers"])
        terms = "jaxtree/numbers"
        for kind, found in ((TermKind.CATEGORY, "jaxtree/is category"), (TermKind.MISSING, "jaxtree/is missing")):
            is_kind = self._table(f"jaxtree/terms of kind {kind}", planes.kind == kind)
            self._node("Cast", [found], [f"{found}, 0 or 1"], to=tensor.DOUBLE)
            self._node("Where", [is_kind, f"{found}, 0 or 1", terms], [f"jaxtree/terms with kind {kind}"])
            terms = f"jaxtree/terms with kind {kind}"
        self._node("Cast", [terms], ["jaxtree/terms of float32"], to=tensor.FLOAT)
        self._node("Cast", ["jaxtree/terms of float32"], ["jaxtree/terms"], to=tensor.DOUBLE)
        normal = self._table("jaxtree/normals", np.ascontiguousarray(planes.weight.T))
        self._node("MatMul", ["jaxtree/terms", normal], ["jaxtree/sums of terms"])
        self._node("Add", ["jaxtree/sums of terms", self._table("jaxtree/offsets", planes.offset)], ["jaxtree/planes"])
        self._dtype = np.dtype(np.float64)
        return "jaxtree/planes"

    def walk(self, values: str, model: FittedModel, *, no_missing: bool) -> _Ends:
        """The end of every row in every tree, as the value "jaxtree/ends"."""
        asked = [questions_of(tree, model.schema, no_missing=no_missing) for tree in model.forest]
        where = [[question.node for question in questions if question.is_end] for questions in asked]
        self._node(
            "TreeEnsemble",
            [values],
            ["jaxtree/end of tree"],
            "ai.onnx.ml",
            **_Ensemble(asked, model.schema).fields(self),
        )
        self._node("Cast", ["jaxtree/end of tree"], ["jaxtree/number in tree"], to=self._onnx.TensorProto.INT64)
        first = np.cumsum([0, *(len(nodes) for nodes in where)])[:-1]
        self._node(
            "Add",
            ["jaxtree/number in tree", self._table("jaxtree/first ends", first.astype(np.int64))],
            ["jaxtree/ends"],
        )
        node = np.concatenate(
            [start + np.array(ends) for start, ends in zip(model.forest.first_node, where, strict=False)]
        )
        return _Ends(model.node_value[node], None if model.node_label is None else model.node_label[0, node], first)

    def predict(self, model: FittedModel, ends: _Ends) -> None:
        """The outputs: the values of the ends, or their mean over the trees."""
        name = "probabilities" if model.classes else "variable"
        self._node(
            "Gather", [self._table("jaxtree/said", ends.shares), "jaxtree/ends"], ["jaxtree/said of trees"], axis=0
        )
        last, one, axis = (
            self._table(f"jaxtree/number {n}", np.array([n], np.int64)) for n in (len(ends.first) - 1, 2**62, 1)
        )
        # Sums in the order of the trees, of which the last is the sum of all.
        self._node(
            "CumSum", ["jaxtree/said of trees", self._table("jaxtree/axis", np.array(1, np.int64))], ["jaxtree/sums"]
        )
        self._node("Slice", ["jaxtree/sums", last, one, axis], ["jaxtree/sum of all"])
        self._node("Squeeze", ["jaxtree/sum of all", axis], ["jaxtree/sum"])
        self._node(
            "Div", ["jaxtree/sum", self._table("jaxtree/number of trees", np.array(float(len(ends.first))))], [name]
        )
        if model.classes:
            self._predict_label(model, ends)
        self._output(name, self._onnx.TensorProto.DOUBLE, [None, ends.shares.shape[1]])

    def _predict_label(self, model: FittedModel, ends: _Ends) -> None:
        classes = _classes(model.classes[0])
        is_words = classes.dtype == object
        if ends.labels is None:
            self._node("ArgMax", ["probabilities"], ["jaxtree/place"], axis=1, keepdims=0)
        else:
            self._node(
                "Squeeze",
                ["jaxtree/ends", self._table("jaxtree/axis of trees", np.array([1], np.int64))],
                ["jaxtree/end"],
            )
            self._node(
                "Gather",
                [self._table("jaxtree/labels", ends.labels.astype(np.int64)), "jaxtree/end"],
                ["jaxtree/place"],
                axis=0,
            )
        self._node("Gather", [self._table("jaxtree/classes", classes), "jaxtree/place"], ["label"], axis=0)
        tensor = self._onnx.TensorProto
        self._output("label", tensor.STRING if is_words else tensor.INT64, [None])

    def _read_column(self, place: int, column: Column) -> str:
        """A column of numbers, or of the codes of its words."""
        if column.kind == "numeric":
            self._input(column.name, self._type, 1)
            return column.name
        if column.kind == "boolean" or not all(isinstance(category, str) for category in column.categories):
            return self._read_numbered(place, column)
        self._input(column.name, self._onnx.TensorProto.STRING, 1)
        codes = f"jaxtree/codes of column {place}"
        values = np.arange(len(column.categories), dtype=self._dtype)
        self._code(
            column.name,
            codes,
            self._onnx.helper.make_tensor(
                "keys", self._onnx.TensorProto.STRING, [len(column.categories)], [c.encode() for c in column.categories]
            ),
            values,
        )
        return codes

    def _read_numbered(self, place: int, column: Column) -> str:
        """Categories that are numbers, or truth values."""
        numbers = np.array(column.categories)
        if numbers.dtype.kind not in "biuf" or (numbers.astype(self._dtype) != numbers).any():
            raise InvalidInputError(f"ONNX has no type for the categories of column {column.name!r}")
        self._input(column.name, self._type, 1)
        codes = f"jaxtree/codes of column {place}"
        keys = self._onnx.numpy_helper.from_array(numbers.astype(self._dtype), "keys")
        self._code(column.name, codes, keys, np.arange(len(numbers), dtype=self._dtype))
        return codes

    def _code(self, given: str, codes: str, keys: Any, values: Any) -> None:
        self._node(
            "LabelEncoder",
            [given],
            [codes],
            "ai.onnx.ml",
            keys_tensor=keys,
            values_tensor=self._onnx.numpy_helper.from_array(values, "values"),
            default_tensor=self._onnx.numpy_helper.from_array(np.array([np.nan], self._dtype), "default"),
        )

    def tensor(self, name: str, values: Any) -> Any:
        """A tensor of an attribute; numbers have the type of the model."""
        values = np.asarray(values)
        return self._onnx.numpy_helper.from_array(values, name)

    @property
    def dtype(self) -> np.dtype:
        """The type of numbers."""
        return self._dtype

    def _node(self, kind: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any) -> None:
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, outputs, domain=domain, **attributes))

    def _input(self, name: str, kind: int, size: int) -> None:
        self.inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, [None, size]))

    def _output(self, name: str, kind: int, shape: list[int | None]) -> None:
        self.outputs.append(self._onnx.helper.make_tensor_value_info(name, kind, shape))

    def _table(self, name: str, values: Any) -> str:
        self.tables.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name


class _Ensemble:
    """The attributes of `TreeEnsemble`: inner nodes and ends are numbered apart."""

    def __init__(self, asked: list[list[Question]], schema: Schema):
        self._schema = schema
        self._roots: list[int] = []
        self._inner: list[tuple[Question, int, int, bool, bool]] = []
        self._ends: list[tuple[int, int]] = []
        for tree, questions in enumerate(asked):
            self._add(tree, questions)

    def _add(self, tree: int, questions: list[Question]) -> None:
        if len(questions) == 1:  # a tree has an inner node, and of a leaf both branches lead to itself
            end = questions[0]
            questions = [Question(0, np.inf, (), 1, 2, True, end.node), end, end]
            numbers = {1: 0, 2: 0}
        else:
            ends = [place for place, question in enumerate(questions) if question.is_end]
            numbers = {place: number for number, place in enumerate(ends)}
        inner = [place for place, question in enumerate(questions) if not question.is_end]
        place_of = {place: len(self._inner) + number for number, place in enumerate(inner)}
        first_end = len(self._ends)
        self._roots.append(len(self._inner))
        for place in inner:
            question = questions[place]
            yes, no = (
                (numbers[child] + first_end, True) if questions[child].is_end else (place_of[child], False)
                for child in (question.yes, question.no)
            )
            self._inner.append((question, yes[0], no[0], yes[1], no[1]))
        self._ends += [(tree, number) for number in range(max(numbers.values()) + 1)]

    def fields(self, graph: _Graph) -> dict[str, Any]:
        """The attributes by name."""
        questions = [question for question, *_ in self._inner]
        is_group = [self._is_group(question) for question in questions]
        limits = np.array([0.0 if group else q.limit for q, group in zip(questions, is_group, strict=True)])
        limits = round_down_to_float32(limits) if graph.dtype == np.float32 else limits
        members = [
            [*map(float, question.codes), np.nan] for question, group in zip(questions, is_group, strict=True) if group
        ]
        modes = np.array([MEMBER if group else LEQ for group in is_group], np.uint8)
        fields: dict[str, Any] = {
            "n_targets": len(self._roots),
            "aggregate_function": SUM,
            "post_transform": 0,
            "tree_roots": self._roots,
            "nodes_featureids": [question.column for question in questions],
            "nodes_splits": graph.tensor("splits", limits.astype(graph.dtype)),
            "nodes_modes": graph.tensor("modes", modes),
            "nodes_truenodeids": [yes for _, yes, _, _, _ in self._inner],
            "nodes_falsenodeids": [no for _, _, no, _, _ in self._inner],
            "nodes_trueleafs": [int(leaf) for _, _, _, leaf, _ in self._inner],
            "nodes_falseleafs": [int(leaf) for _, _, _, _, leaf in self._inner],
            "nodes_missing_value_tracks_true": [int(question.missing_is_yes) for question in questions],
            "leaf_targetids": [tree for tree, _ in self._ends],
            "leaf_weights": graph.tensor("weights", np.array([number for _, number in self._ends], graph.dtype)),
        }
        if members:
            values = np.array([value for group in members for value in group], graph.dtype)
            fields["membership_values"] = graph.tensor("members", values)
        return fields

    def _is_group(self, question: Question) -> bool:
        return self._schema.columns[question.column].kind != "numeric" and question.limit < np.inf


def _classes(classes: np.ndarray) -> np.ndarray:
    """The classes as integers or words, which is what ONNX has."""
    if classes.dtype.kind in "biu":
        return classes.astype(np.int64)
    if all(isinstance(name, str) for name in classes.tolist()):
        return classes.astype(object)
    raise InvalidInputError(f"ONNX has labels of integers and words, and the classes are {classes.dtype}")
