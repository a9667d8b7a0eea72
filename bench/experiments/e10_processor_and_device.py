"""E10: processor and GPU together. Needs a device."""
from laboratory import programs
from laboratory.experiment import Experiment, Shown, Unavailable
from laboratory.published import look_up


def measure(lab):
    reason = programs.cuda_reason()
    raise Unavailable(f"it needs a CUDA device: {reason}" if reason else
                      "processor and device together are measured by ./dev gpu bench, whose result the lab does "
                      "not read yet")


def show(measured):
    return Shown("open", [look_up("studies/pousa_ci_aim/findings/2")], [])


EXPERIMENT = Experiment(
    name="E10", title="Processor and GPU together", study="pousa_ci_aim",
    did="Reasoned, as an outlook, that data larger than a GPU's memory is better cut for one GPU than spread over a "
        "cluster of GPUs.",
    here="`--engine hybrid`: whatever is free takes the next piece.",
    measure=measure, show=show, bare=True, seconds={"quick": 1, "full": 1})
