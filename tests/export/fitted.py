"""Stand-ins for fitted estimators, made of the nodes of the oracle."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.forest import join_trees
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import declared_majority, node_means, target_means

KINDS = {
    "threshold": SplitKind.THRESHOLD,
    "multiway": SplitKind.MULTIWAY,
    "one_vs_rest": SplitKind.ONE_VS_REST,
    "subset": SplitKind.SUBSET,
}
NOWHERE = 2**30  # the branch of a missing value that is shared out


class Fitted(BaseEstimator):
    """An estimator that was never fitted, but has what fitting leaves behind."""

    model_kind = ModelKind.TREE
    tree_: Tree
    schema_: Schema
    classes_: Any
    class_order_: Any

    def fit(self, X, y=None):
        raise NotImplementedError

    @property
    def model_(self):
        """The model that an estimator makes of its tree."""
        tree, forest = self.tree_, join_trees([self.tree_])
        if not tree.num_classes:
            return FittedModel(self.schema_, forest, target_means(tree), None, (), ())
        is_one = len(tree.num_classes) == 1
        names = (self.classes_,) if is_one else tuple(self.classes_)
        orders = (self.class_order_,) if is_one else tuple(self.class_order_)
        label = declared_majority(tree, orders)
        return FittedModel(self.schema_, forest, node_means(tree), label, names, orders)


def fitted(root, X, y, *, missing_branch=NOWHERE, **attributes):
    """A fitted classifier with the tree below an oracle's node; categories and classes are matched by name."""
    estimator = Fitted()
    declared = [str(name) for name in y.cat.categories]
    order = np.argsort(declared)
    estimator.classes_ = np.array(declared)[order]
    estimator.class_order_ = np.argsort(order)
    estimator.schema_ = Encoder(max_bins=None).fit(X).schema_
    estimator.tree_ = as_tree(root, estimator.schema_, order, missing_branch)
    for name, value in attributes.items():
        setattr(estimator, name, value)
    return estimator


def as_tree(root, schema, order, missing_branch=NOWHERE):
    """The node table of an oracle's tree, its class weights in another order."""
    nodes, parents, depths = [root], [0], [0]
    for number, node in enumerate(nodes):
        children = branches(node, schema)
        nodes += children
        parents += [number] * len(children)
        depths += [depths[number] + 1] * len(children)
    size, split = len(nodes), [node_split(node, schema) for node in nodes]
    feature, code, kind, subset = (np.array(values) for values in zip(*split, strict=True))
    num_children = np.array([len(node.children) for node in nodes], np.int32)
    first_child = np.where(num_children > 0, 1 + np.cumsum(num_children) - num_children, 0).astype(np.int32)
    count = np.array([node.weights for node in nodes])[:, order]
    zero = np.zeros(size)
    return Tree(
        feature=feature,
        code=code,
        next_code=code + 1,
        threshold=np.array([node.threshold for node in nodes]),
        split_kind=kind,
        subset=subset.astype(np.uint32)[:, None],
        missing_code=np.zeros(size, np.int32),
        missing_branch=np.full(size, missing_branch, np.int32),
        first_child=first_child,
        num_children=num_children,
        parent=np.array(parents, np.int32),
        depth=np.array(depths, np.int32),
        root=np.zeros(size, np.int32),
        weight=count.sum(axis=1),
        count=count,
        target_sum=np.zeros((size, 0)),
        num_rows=np.zeros(size, np.int32),
        impurity=zero,
        gain=zero,
        num_nodes=np.array(size, np.int32),
        num_classes=(len(order),),
    )


def branches(node, schema):
    """The children of a node in the order of jaxtree's branches."""
    if node.kind == "multiway":
        categories = column_of(node, schema).categories
        return [node.children[node.categories.index(category)] for category in categories]
    return node.children if node.kind == "threshold" else node.children[::-1]


def node_split(node, schema):
    """Feature, code, kind and subset of a node's split; a leaf has marks that mean nothing."""
    if not node.children:
        return -2, 0, 0, 0
    codes = [column_of(node, schema).categories.index(category) for category in node.categories]
    feature = schema.column_names.index(node.attribute)
    code = codes[0] if node.kind == "one_vs_rest" else 0
    subset = sum(1 << code for code in codes) if node.kind == "subset" else 0
    return feature, code, int(KINDS[node.kind]), subset


def column_of(node, schema):
    return schema.columns[schema.column_names.index(node.attribute)]
