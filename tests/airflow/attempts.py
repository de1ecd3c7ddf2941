"""One try of a task: Airflow's operator with templates, without its servers."""

import dataclasses

from airflow.sdk import DAG
from airflow.sdk.exceptions import (AirflowException, AirflowFailException,
                                    AirflowSkipException, TaskDeferred)
from airflow.sdk.execution_time.context import OutletEventAccessors
from bench import assert_no_secret


@dataclasses.dataclass
class Ended:
    """How a try ended, as Airflow would take it.

    state     success, failed (for good), retry, skipped or deferred
    returned  the value that it returned: its XCom
    pushed    other XComs, by key
    events    the events of its assets
    why       the exception
    log       its lines
    """

    state: str
    returned: object = None
    pushed: dict = dataclasses.field(default_factory=dict)
    events: object = None
    why: BaseException = None
    log: str = ""

    def expect(self, state):
        assert self.state == state, f"{self.state}, expected {state}\n{self}"
        return self

    def event(self, asset):
        return self.events[asset].extra


class TaskInstance:
    """As much of it as an operator uses; `states`: of other tasks."""

    dag_id, run_id = "test", "run"

    def __init__(self, try_number, states):
        self.try_number, self.states, self.pushed = try_number, states, {}

    def get_task_states(self, **_):
        return {self.run_id: self.states}

    def xcom_push(self, key, value):
        self.pushed[key] = value


class Attempts:
    """Run tries, and keep what they said."""

    def __init__(self, capsys):
        self.capsys, self.operators = capsys, []

    def operator(self, kind, **arguments):
        with DAG("test"):
            made = kind(task_id=f"task{len(self.operators)}", **arguments)
        self.operators.append(made)
        return made

    def run(self, operator, resume=None, try_number=1, states=(), **context):
        """One try; `resume`: the deferral after which it goes on."""
        self.capsys.readouterr()
        ti = TaskInstance(try_number, dict(states))
        context = {"ti": ti, "outlet_events": OutletEventAccessors(),
                   **context}
        ended = Ended("success", events=context["outlet_events"],
                      pushed=ti.pushed)
        try:
            operator.render_template_fields(context)
            if resume:
                ended.returned = operator.resume(
                    context, event={}, **resume.why.kwargs)
            else:
                # The safeguard around execute() is Airflow's own.
                ended.returned = type(operator).execute.__wrapped__(
                    operator, context)
        except TaskDeferred as why:
            ended.state, ended.why = "deferred", why
        except AirflowFailException as why:
            ended.state, ended.why = "failed", why
        except AirflowSkipException as why:
            ended.state, ended.why = "skipped", why
        except AirflowException as why:
            ended.state, ended.why = "retry", why
        ended.log = self.capsys.readouterr().out
        assert_no_secret(ended.log + str(ended.why), "the log of a task")
        return ended

    def __call__(self, kind, *, context=None, **arguments):
        return self.run(self.operator(kind, **arguments), **(context or {}))
