"""A tree or forest as a model of treelite, from which compilers and servers of tree models read."""

from typing import Any

import numpy as np

from jaxtree.errors import MissingExtraError
from jaxtree.export.questions import Question, questions_of
from jaxtree.export.spoken import Spoken, SpokenTree, spoken
from jaxtree.table.schema import Schema


def to_treelite(estimator: Any, *, no_missing: bool = False) -> Any:
    """Returns a fitted tree or forest as a `treelite.Model`, in float64.

    A row of the model is one number a column: a number as it is, a truth value as 0 or 1, a word as its place among
    `estimator.schema_.columns[...].categories`, NaN where a value is missing or a word is not among these. Without
    one-hot encoding that is what `estimator.encoder_.values(X)` returns. The model says shares of classes, in the
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
    said = spoken(estimator)
    num_outputs = said.trees[0].shares.shape[1]
    of_classes = said.classes is not None
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=model_builder.Metadata(
            num_feature=len(said.schema.columns),
            task_type="kMultiClf" if of_classes else "kRegressor",
            average_tree_output=True,
            num_target=1,
            num_class=[num_outputs],
            leaf_vector_shape=(1, num_outputs),
        ),
        tree_annotation=model_builder.TreeAnnotation(
            num_tree=len(said.trees),
            target_id=[0] * len(said.trees),
            class_id=[-1 if num_outputs > 1 else 0] * len(said.trees),
        ),
        postprocessor=model_builder.PostProcessorFunc(name="identity_multiclass" if of_classes else "identity"),
        base_scores=[0.0] * num_outputs,
    )
    for tree in said.trees:
        _add_tree(builder, said, tree, no_missing=no_missing)
    return builder.commit()


def _add_tree(builder: Any, said: Spoken, tree: SpokenTree, *, no_missing: bool) -> None:
    """Adds the questions of a tree; what follows on yes is the left child."""
    builder.start_tree()
    for number, asked in enumerate(questions_of(tree.tree, said.schema, no_missing=no_missing)):
        builder.start_node(number)
        if asked.is_end:
            shares = tree.shares[asked.node].tolist()
            builder.leaf(shares if len(shares) > 1 else shares[0])
        else:
            _ask(builder, said.schema, asked)
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
