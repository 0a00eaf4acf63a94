from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.leverage import LLD, LLM, LogBoost, Parallel, Sequential, TemplateSet

X = np.array([[0.5, 0.25], [-0.5, 0.5], [0.25, 3.0]])
Y = np.array([1, -1, 1])
NAMED = pa.table({"age": X[:, 0], "height": X[:, 1]})


@pytest.mark.parametrize("fit", [LLM, LogBoost])
@pytest.mark.parametrize(
    ("templates", "message"),
    [
        pytest.param(Parallel(1.0), r"template 0 must satisfy .* got 3.25 in row 2; scale", id="parallel"),
        pytest.param(Sequential(1.0), r"template 1 \(column 'height'\) must .* got 3 in row 2", id="sequential"),
        pytest.param(TemplateSet([[1, 0], [0.5, 0.5]]), r"template 1 must satisfy .* got 1.625 in row 2", id="set"),
        pytest.param(
            TemplateSet([[1, -0.5]]), "template 0 must be non-negative, got -0.5 in column 'height'", id="sign"
        ),
        pytest.param(
            TemplateSet([[1, np.nan]]), "template 0 must be non-negative, got nan in column 'height'", id="nan"
        ),
        pytest.param(TemplateSet([[1, 0], [0.5, 0]]), "column 'height' must be positive in some template", id="missed"),
        pytest.param(
            TemplateSet([[1, 0, 0]]), "templates must have one entry for each of the 2 columns, got 3", id="width"
        ),
        pytest.param(
            "diagonal", "templates must be 'parallel', 'sequential' or a template set, got 'diagonal'", id="name"
        ),
    ],
)
def test_row_condition_violations_name_the_row_or_the_column(fit, templates, message):
    with pytest.raises(ValueError, match=message):
        fit(templates=templates).fit(NAMED, Y)


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        pytest.param(
            Parallel(1.0), r"template 0 must .* <= 2, got 9.875, most of it \(9.3125\) in column 'height'", id="p"
        ),
        pytest.param(Sequential(1.0), r"template 1 \(column 'height'\) must .* <= 2, got 9.3125", id="sequential"),
        pytest.param(TemplateSet([[1, 0], [0, 1]]), r"template 1 must .* <= 2, got 9.3125", id="set"),
    ],
)
def test_total_condition_violations_name_the_column(templates, message):
    with pytest.raises(ValueError, match=message):
        LLD(templates=templates).fit(NAMED, Y)


@pytest.mark.parametrize("fit", [LLM, LLD, LogBoost])
@pytest.mark.parametrize("templates", ["parallel", "sequential"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_default_steps_are_the_longest_allowed(table, fit, templates, kind):
    data, y = table(0, kind=kind)
    dense = data.toarray() if kind == "sparse" else data
    if fit is LLD:
        limits = 2 / (dense**2).sum(axis=0) if templates == "sequential" else 2 / (dense**2).sum()
    else:
        limits = 1 / np.abs(dense).max(axis=0) if templates == "sequential" else 1 / np.abs(dense).sum(axis=1).max()
    limits = np.broadcast_to(limits, 5)
    matrix = np.diag(limits) if templates == "sequential" else limits[None, :]
    explicit = fit(templates=TemplateSet(matrix), iterations=20).fit(data, y)
    np.testing.assert_allclose(fit(templates=templates, iterations=20).fit(data, y).coefficients, explicit.coefficients)
    with pytest.raises(ValueError, match="must satisfy"):
        fit(templates=TemplateSet(matrix * 1.001)).fit(data, y)


@pytest.mark.parametrize("fit", [LLM, LLD, LogBoost])
@pytest.mark.parametrize("templates", ["parallel", "sequential"])
def test_a_column_of_zeros_never_moves(fit, templates):
    solution = fit(templates=templates, iterations=10).fit(np.column_stack((X, np.zeros(3))), Y).coefficients
    assert solution[2] == 0.0
    assert np.abs(solution[:2]).max() > 0.0


@pytest.mark.parametrize("build", [Parallel, Sequential])
@pytest.mark.parametrize("step", [0.0, -1.0, float("nan")])
def test_refuses_a_step_that_goes_nowhere(build, step):
    with pytest.raises(ValueError, match="step must be positive, got"):
        build(step)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_refuses_an_empty_set(shape):
    with pytest.raises(ValueError, match="templates must be a table of at least one template, got shape"):
        TemplateSet(np.empty(shape))


@pytest.mark.parametrize("build", [Parallel, Sequential])
def test_unbound_templates_say_so(build):
    with pytest.raises(ValueError, match="templates must be bound to a table first"):
        build().best(np.ones(2))
