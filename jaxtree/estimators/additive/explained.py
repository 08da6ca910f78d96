"""Explanations of the terms of additive estimators, and of rows."""

from typing import Any

import numpy as np
from jaxtyping import Float64, UInt
from sklearn.utils.validation import check_is_fitted

from jaxtree.additive.explanations import GlobalExplanation, contributions_of, explain_terms
from jaxtree.additive.model import AdditiveModel
from jaxtree.additive.shapley import shap_by_table, shap_interactions_by_table
from jaxtree.errors import InvalidInputError
from jaxtree.explain.paths import as_table
from jaxtree.explain.scores import ScoreExplanation, answer_of
from jaxtree.explain.shap import ShapInteractions, ShapValues
from jaxtree.table.sources import is_source, open_source
from jaxtree.tree.link import Link


class ExplainsTerms:
    """An additive estimator that tells what it has learned."""

    additive_: AdditiveModel
    bag_values_: Float64[np.ndarray, "bag place score"]
    encoder_: Any
    model_: Any
    other_columns_: Any

    def explain_global(self) -> GlobalExplanation:
        """Returns all terms in the units of the table, the most important first.

        Each has its bins, what they add, standard errors and pointwise intervals, and the weight of the rows there.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (25, 1))
            >>> model = ExplainableBoostingRegressor(interactions=0).fit(X, 2 * X[:, 0])
            >>> term = model.explain_global()["x0"]
            >>> term.axes[0].labels, term.values[:2, 0].round(1).tolist()
            (('0', '1', 'missing'), [-1.0, 1.0])
        """
        check_is_fitted(self)
        terms = explain_terms(self.additive_, len(self.bag_values_))
        order = np.argsort(-self.additive_.importances(), kind="stable").tolist()
        link = self.model_.link
        names = [] if link.classes is None else [str(name) for name in link.classes.tolist()]
        if len(names) == 2:
            labels = names[1:]
        else:
            number = self.additive_.num_scores
            labels = names or ([""] if number == 1 else [f"score {place}" for place in range(number)])
        if names:
            unit = "log odds" if link.kind == Link.LOGISTIC else "score"
        else:
            unit = "prediction" if link.kind == Link.IDENTITY else "score"
        return GlobalExplanation(self.additive_.intercept, tuple(terms[term] for term in order), tuple(labels), unit)

    def explain_row(self, row: Any) -> ScoreExplanation:
        """Explains what is predicted of one row: what every term adds to the score, the greatest first.

        Of several classes the score of the predicted one is explained. The mean score and all contributions add up to
        it.

        Args:
            row: A table of one row; or its values in a list, a vector, or a mapping from the names of the columns.

        Raises:
            InvalidInputError: It is not one row of such a table.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (25, 1))
            >>> y = 2 * X[:, 0]
            >>> found = ExplainableBoostingRegressor(interactions=0).fit(X, y).explain_row([1.0, 0.0])
            >>> found.contributions[0].column, found.contributions[0].value
            ('x0', '1')
        """
        check_is_fitted(self)
        schema = self.additive_.schema
        table = as_table(row, schema.column_names)
        values, codes = np.asarray(self.encoder_.values(table), np.float64), self._codes(table)
        if len(values) != 1:
            raise InvalidInputError(f"row must be one row, got {len(values)}")
        words = [own.in_words(float(value)) for own, value in zip(schema.columns, values[0], strict=True)]
        scores = self.additive_.intercept + self.additive_.term_values(codes)[0].sum(axis=0)
        said = answer_of(self.model_.link, scores)
        return ScoreExplanation(
            said.prediction,
            said.share,
            said.of_class,
            float(scores[said.place]),
            float(self.additive_.intercept[said.place]),
            contributions_of(self.additive_, codes, words, said.place),
            (),
        )

    def eval_terms(self, X: Any) -> Float64[np.ndarray, "row term score"]:
        """Returns what every term adds to the scores of rows, in the order of `term_names_`.

        With `intercept_` they add up to the scores.

        Args:
            X: A table, or a source.
        """
        check_is_fitted(self)
        return self.additive_.term_values(self._codes(X))

    def shap_by_table(self, X: Any) -> ShapValues:
        """Returns the Shapley values of rows; see `jaxtree.explain.shap_values`."""
        check_is_fitted(self)
        return shap_by_table(self.additive_, self._codes(X))

    def shap_interactions_by_table(self, X: Any) -> ShapInteractions:
        """Returns the Shapley interaction values of rows; see `jaxtree.explain.shap_interaction_values`."""
        check_is_fitted(self)
        return shap_interactions_by_table(self.additive_, self._codes(X))

    def _codes(self, X: Any) -> UInt[np.ndarray, "feature row"]:
        return self.encoder_.transform(open_source(X).without(self.other_columns_) if is_source(X) else X)
