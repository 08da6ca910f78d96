"""A tree or forest as a model of treelite."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import InvalidInputError, import_extra
from jaxtree.export.conditions import Question, questions_of
from jaxtree.export.models import FORMS_OF_RATIOS, best_of_search, exported_model
from jaxtree.tree.link import Link
from jaxtree.tree.model import FittedModel


def to_treelite(estimator: Any, *, no_missing: bool = False) -> Any:
    """Returns a fitted tree or forest as a `treelite.Model`, in float64.

    A row of the model is one number a column: a number as it is, a truth value as 0 or 1, a word as its place among
    `estimator.schema_.columns[...].categories`, NaN where a value is missing. A word that is not among these has the
    place of rare words, the last, or NaN if there are none. Without one-hot encoding that is what
    `estimator.encoder_.values(X)` returns. The model predicts shares of classes, in the order of `classes_`, or a
    number; for boosted trees of two classes the probability of the second.

    Args:
        estimator: A fitted tree or forest of one output, or boosted trees.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values and
            unseen words.

    Raises:
        InvalidInputError: The estimator has several outputs, or shares out rows with missing values; or the link of the
            loss of boosted trees is none of identity, exponential, logistic and softmax.
        InvalidTypeError: It is no tree or forest of jaxtree.
        MissingExtraError: The package treelite is not installed.

    Example:
        >>> import treelite
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = to_treelite(DecisionTreeClassifier(max_depth=2).fit(X, y))
        >>> treelite.gtil.predict(model, X[:1])[0].tolist()
        [[1.0, 0.0, 0.0]]
    """
    estimator = best_of_search(estimator)
    model_builder = import_extra("treelite", "to_treelite", "treelite").model_builder
    model = exported_model(estimator, no_missing=no_missing)
    form, num_trees = _treelite_form(model), len(model.forest)
    num_targets, num_classes = form.shape
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=model_builder.Metadata(
            num_feature=len(model.schema.columns),
            task_type=form.task,
            average_tree_output=True,
            num_target=num_targets,
            num_class=[num_classes] * num_targets,
            leaf_vector_shape=form.shape,
        ),
        tree_annotation=model_builder.TreeAnnotation(
            num_tree=num_trees,
            target_id=[-1 if num_targets > 1 else 0] * num_trees,
            class_id=[-1 if num_classes > 1 else 0] * num_trees,
        ),
        postprocessor=model_builder.PostProcessorFunc(name=form.postprocessor),
        base_scores=[0.0] * (num_targets * num_classes),
    )
    for tree, values in model.by_tree():
        _add_tree(builder, questions_of(tree, model.schema), values[:, : num_targets * num_classes])
    return builder.commit()


class _TreeliteForm(NamedTuple):
    """How treelite is to take what the trees say: its task, the targets and classes, and what is done with sums."""

    task: str
    shape: tuple[int, int]
    postprocessor: str


def _treelite_form(model: FittedModel) -> _TreeliteForm:
    num_columns, link = model.node_value.shape[1], model.link
    if model.is_ratio:
        raise InvalidInputError(
            "treelite adds up trees, and a hardened forest with weights of leaves divides by their weights: its forms "
            f"are {FORMS_OF_RATIOS}"
        )
    if link is None:
        kind, end = ("kMultiClf", "identity_multiclass") if model.classes else ("kRegressor", "identity")
        return _TreeliteForm(kind, (1, num_columns), end)
    if link.kind == Link.OTHER:
        raise InvalidInputError(
            "treelite has the links identity, exponential, logistic and softmax, and these trees have another: take "
            "to_onnx, to_c, to_sql or to_jax_export"
        )
    if link.kind == Link.SOFTMAX:
        return _TreeliteForm("kMultiClf", (1, num_columns), "softmax")
    if link.classes is not None:
        return _TreeliteForm("kBinaryClf", (1, 1), "sigmoid")
    ends = {Link.IDENTITY: "identity", Link.EXP: "exponential", Link.LOGISTIC: "sigmoid"}
    return _TreeliteForm("kRegressor", (link.num_predictions, 1), ends[link.kind])


def _add_tree(builder: Any, questions: list[Question], values: Float64[np.ndarray, "node column"]) -> None:
    """Adds the questions of a tree; what follows on yes is the left child."""
    builder.start_tree()
    for number, asked in enumerate(questions):
        following = {
            "feature_id": asked.column,
            "default_left": asked.missing_is_yes,
            "left_child_key": asked.yes,
            "right_child_key": asked.no,
        }
        builder.start_node(number)
        if asked.is_end:
            value = values[asked.node].tolist()
            builder.leaf(value if len(value) > 1 else value[0])
        elif asked.codes:
            builder.categorical_test(category_list=list(asked.codes), category_list_right_child=False, **following)
        else:
            builder.numerical_test(threshold=asked.limit, opname="<=", **following)
        builder.end_node()
    builder.end_tree()
