"""A tree or forest as a model of treelite, from which compilers and servers of tree models read."""

from typing import Any

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import MissingExtraError
from jaxtree.export.conditions import Question, questions_of
from jaxtree.export.models import exported_model
from jaxtree.table.schema import Schema


def to_treelite(estimator: Any, *, no_missing: bool = False) -> Any:
    """Returns a fitted tree or forest as a `treelite.Model`, in float64.

    A row of the model is one number a column: a number as it is, a truth value as 0 or 1, a word as its place among
    `estimator.schema_.columns[...].categories`, NaN where a value is missing or a word is not among these. Without
    one-hot encoding that is what `estimator.encoder_.values(X)` returns. The model predicts shares of classes, in the
    order of `classes_`, or a number.

    Args:
        estimator: A fitted tree or forest of one output.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values and
            unseen words.

    Raises:
        InvalidInputError: The estimator has several outputs, or shares out rows with missing values.
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
    try:
        from treelite import model_builder
    except ImportError as error:
        raise MissingExtraError('treelite needs its package: pip install "jaxtree[treelite]"') from error
    model = exported_model(estimator)
    num_outputs, num_trees = model.node_value.shape[1], len(model.forest)
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=model_builder.Metadata(
            num_feature=len(model.schema.columns),
            task_type="kMultiClf" if model.classes else "kRegressor",
            average_tree_output=True,
            num_target=1,
            num_class=[num_outputs],
            leaf_vector_shape=(1, num_outputs),
        ),
        tree_annotation=model_builder.TreeAnnotation(
            num_tree=num_trees,
            target_id=[0] * num_trees,
            class_id=[-1 if num_outputs > 1 else 0] * num_trees,
        ),
        postprocessor=model_builder.PostProcessorFunc(name="identity_multiclass" if model.classes else "identity"),
        base_scores=[0.0] * num_outputs,
    )
    for tree, values in model.by_tree():
        _add_tree(builder, model.schema, questions_of(tree, model.schema, no_missing=no_missing), values)
    return builder.commit()


def _add_tree(
    builder: Any, schema: Schema, questions: list[Question], values: Float64[np.ndarray, "node column"]
) -> None:
    """Adds the questions of a tree; what follows on yes is the left child."""
    builder.start_tree()
    for number, asked in enumerate(questions):
        builder.start_node(number)
        if asked.is_end:
            value = values[asked.node].tolist()
            builder.leaf(value if len(value) > 1 else value[0])
        else:
            _ask(builder, schema, asked)
        builder.end_node()
    builder.end_tree()


def _ask(builder: Any, schema: Schema, asked: Question) -> None:
    following = {
        "feature_id": asked.column,
        "default_left": asked.missing_is_yes,
        "left_child_key": asked.yes,
        "right_child_key": asked.no,
    }
    if schema.columns[asked.column].kind == "numeric" or asked.limit == np.inf:
        builder.numerical_test(threshold=asked.limit, opname="<=", **following)
    else:
        builder.categorical_test(category_list=list(asked.codes), category_list_right_child=False, **following)
