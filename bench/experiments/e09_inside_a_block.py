"""E9: threads inside a block, as has been tried, against threads across blocks."""
from laboratory import contests, programs
from laboratory.experiment import Experiment, Panel, Series, Shown, Table, TimedOut
from laboratory.published import value as published, values as published_values
from laboratory.values import derive, size

FEW = 320  # bytes: nested regions take a tenth of a second for them, and minutes where processors are taken
SIZES = [3600, 84992, 4499968]  # the study's 3.6 KB, 85 KB and 4.5 MB in whole blocks
NAMES = {"blocks": "across blocks", "inside": "inside a block", "nested": "both, nested"}


def measure(lab):
    count = min(max(lab.cores, 2), 4)
    nested = {"OMP_MAX_ACTIVE_LEVELS": "2"}
    across_and_inside = ("blocks", "inside")
    for size_, splits in ((FEW, ("blocks", "inside", "nested")), *((size_, across_and_inside) for size_ in SIZES)):
        if size_ == SIZES[2] and lab.quick:
            lab.leave_out(size(size_), "for the time; --full has it")
            continue
        try:
            contests.threads(lab, sizes=[size_], counts=(count,), splits=splits, grains=(256,), rounds=3,
                             first="rate to across", environment=nested, seconds=lab.pick(15, 200))
        except TimedOut as error:
            # A region waits for its slowest thread: where another program has a processor, each waits long.
            lab.leave_out(f"{size(size_)}: {', '.join(NAMES[split] for split in splits)}", str(error))
    lab.leave_out(f"nested regions on more than {FEW} bytes", "for the time, which grows with the size")
    reason = programs.cuda_reason()
    lab.leave_out("the study's substeps on a GPU", f"no device: {reason}" if reason else
                  "there is no device kernel that works inside a block")


def finding():
    return ["parallelism inside a block cost more than it gained; on the GPU 4.5 MB took ",
            published("meyer/cuda_openmp_s/2"), " s where OpenMP across blocks took ",
            published("meyer/best_openmp_s/2"), " s"]


def show(measured):
    sizes = measured.factors("bytes")
    splits = measured.factors("split")
    count = measured.factors("threads")[0]
    rows = []
    for split in splits:
        rows.append([NAMES[split], *[measured.value("time", split=split, bytes=size_) for size_ in sizes]])
    for split in splits[1:]:
        ratios = [measured.value("rate to across", split=split, bytes=size_) for size_ in sizes]
        rows.append([f"{NAMES[split]}: times as long as across",
                     *[derive("inverse", ratio) if ratio else None for ratio in ratios]])
    inside = derive("inverse", measured.value("rate to across", split="inside", bytes=sizes[-1]))
    nested = measured.value("rate to across", split="nested", bytes=FEW)
    nested = derive("inverse", nested) if nested else None
    outcome = "holds" if min(float(value) for value in (inside, nested) if value) > 1 else "does not hold"
    series = [Series(NAMES[split], [size(size_) for size_ in sizes],
                     [measured.value("time", split=split, bytes=size_) for size_ in sizes]) for split in splits]
    of_study = [number for number, size_ in enumerate(SIZES) if size_ in sizes]
    for key, label in (("cuda_openmp_s", "study: CUDA on substeps of one block"), ("best_openmp_s", "study: best OpenMP")):
        times = published_values(f"meyer/{key}")
        series.append(Series(label, [size(SIZES[number]) for number in of_study],
                             [times[number] for number in of_study], "published"))
    beyond = "" if count * count <= measured.machine["cores"] else ", more threads than cores"
    return Shown(outcome,
                 finding(),
                 [f"with {count} threads SubBytes and ShiftRows in parallel regions of their own took ", inside,
                  f" times as long as threads across blocks ({size(sizes[-1])})",
                  *([", and both nested ", nested, f" times ({FEW} B{beyond})"] if nested else [])],
                 [Panel(f"AES-128-ECB, {count} threads", "", "seconds", series, kind="bars", logy=True)],
                 [Table("Seconds", ["", *[size(size_) for size_ in sizes]], rows)],
                 ["A parallel region costs far more than the SubBytes in it, and a block of AES-128 has twenty such "
                  "regions. Each waits for its slowest thread: where another program has a processor, for long."])


EXPERIMENT = Experiment(
    name="E9", title="Threads inside a block", study="meyer",
    did="Tried SubBytes and ShiftRows in nested parallel regions, and CUDA on the substeps of one block at a time; "
        "rejected both.",
    here="The same steps: across blocks; inside each block (16 bytes of SubBytes, 4 rows of ShiftRows); both nested. "
         "Not on a GPU.",
    measure=measure, show=show, seconds={"quick": 4, "full": 40})
