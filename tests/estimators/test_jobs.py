"""Jobs are made together where a family says so, and each is what its own fit makes."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import jaxtree
from jaxtree.errors import InternalError, InterruptedFitWarning, InvalidInputError, warn_user
from jaxtree.estimators.common.jobs import Family, Job, TablePart, fit_many, fit_parts

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6.0)


class Means(BaseEstimator, Family):
    """Learns a mean; its engine fails on rows that have the target `fails_on`, together or alone."""

    __module__ = "jaxtree.stand_in"

    def __init__(self, scale=1, fails_on=None, alone_too=False, random_state=None):
        self.scale, self.fails_on, self.alone_too, self.random_state = scale, fails_on, alone_too, random_state

    def check_parameters(self):
        if self.scale < 0:
            raise InvalidInputError("scale must be at least 0")

    def kind_of_jobs(self):
        return "fails on", self.fails_on

    @classmethod
    def fit_jobs(cls, jobs):
        for place, (estimator, part) in enumerate(jobs):
            _, y, _ = part.arguments(estimator)
            mean = part.read("mean", y.mean)
            if estimator.fails_on in y:
                raise ZeroDivisionError("a defect")
            made = Means(**estimator.get_params())
            made.mean_, made.size_ = mean * made.scale, len(jobs)
            yield {place: made}

    def fit(self, X, y, **params):
        self.check_parameters()
        if self.alone_too and self.fails_on in y:
            raise ZeroDivisionError("alone, too")
        self.mean_, self.size_ = np.mean(y) * self.scale, 0
        return self


def made(*settings, parts=(None,), **options):
    """The fit of every setting on every part, by its number."""
    own = [TablePart(X, Y, rows=rows) for rows in parts]
    jobs = [Job(setting, part) for part in own for setting in settings]
    return {fit.number: fit for fit in fit_many(jobs, **options)}


def test_jobs_of_one_kind_and_part_are_made_together():
    fits = made(Means(), Means(2), Means(3, fails_on=9.0), parts=([0, 1], [2, 3]))
    assert [fits[n].made.mean_ for n in range(6)] == [0.5, 1, 1.5, 2.5, 5, 7.5]
    assert [fits[n].made.size_ for n in range(6)] == [2, 2, 1, 2, 2, 1]


@pytest.mark.parametrize(
    "alone", [Means(random_state=np.random.RandomState(0)), type("Own", (Means,), {"__module__": "own", "own": made})()]
)
def test_generators_and_methods_of_ones_own_are_fitted_alone(alone):
    assert made(alone)[0].made.size_ == 0


def test_a_part_is_read_once_and_forgotten_after_its_last_job():
    reads, part = [], TablePart(X, Y, {"sample_weight": Y}, np.array([1, 2]))
    assert part.arguments(Means())[2]["sample_weight"].tolist() == [1, 2]
    assert [part.read("key", lambda: reads.append(1) or 7) for _ in range(3)] == [7, 7, 7] and len(reads) == 1
    list(fit_many([Job(Means(), part), Job(Means(fails_on=8.0), part)]))
    part.read("key", lambda: reads.append(2))
    assert reads == [1, 2]


def test_a_defect_of_a_joint_fit_is_an_error():
    with pytest.raises(InternalError, match="a defect"):
        made(Means(fails_on=3.0), Means(2, fails_on=3.0), keeps_errors=True)


def test_fits_that_fail_alone_too_keep_their_errors():
    settings = Means(fails_on=3.0, alone_too=True), Means(-1), Means()
    fits = made(*settings, parts=([0, 1], [2, 3]), keeps_errors=True)
    assert [type(fits[n].error) for n in range(6)] == [
        *(type(None), InvalidInputError, type(None)),
        *(ZeroDivisionError, InvalidInputError, type(None)),
    ]
    with pytest.raises(ZeroDivisionError, match="alone, too"):
        made(*settings[:1])


def test_a_parameter_that_no_copy_can_have_is_an_error_of_its_fit():
    pruning = jaxtree.Dropout(0.1).set_params(p=2)
    jobs = [Job(jaxtree.DecisionTreeClassifier(pruning=pruning), TablePart(X, Y > 2))]
    (fitted,) = fit_many(jobs, keeps_errors=True)
    assert fitted.made is None and "'p' parameter of Dropout" in str(fitted.error)


def test_a_refusal_of_a_joint_fit_is_followed_by_lone_ones(monkeypatch):
    def refuses(jobs):
        raise InvalidInputError("rows are such that fits cannot be joined")
        yield

    monkeypatch.setattr(Means, "fit_jobs", refuses)
    assert made(Means())[0].made.size_ == 0


def test_a_job_that_its_family_leaves_out_is_not_made_alone(monkeypatch):
    monkeypatch.setattr(Means, "fit_jobs", lambda jobs: iter([{0: Means()}, {1: None}]))
    assert [*made(Means(), Means(2), Means(3))] == [0, 2]


def test_an_interrupt_that_would_leave_fewer_trees_is_raised(monkeypatch):
    def interrupted(self, X, y):
        warn_user("fit was interrupted: there are 2 of 9 trees", InterruptedFitWarning)

    monkeypatch.setattr(Means, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made(Means(random_state=np.random.RandomState(0)))


def test_names_that_no_fit_takes_are_refused_before_the_first_fit():
    with pytest.raises(InvalidInputError, match="weights"):
        fit_parts(jaxtree.DecisionTreeRegressor(), X, Y, [np.array([0, 1])], {"weights": Y})
