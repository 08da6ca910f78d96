"""The words of the page around its tables."""

INTRODUCTION = """\
# A prediction of times on six devices, {today}

**Nothing on this page was measured on a device**, except what peers published. Programs were compiled for an H200 and a
TPU v5e that were not there; their work was counted in the compiler's text; public rates turn it into seconds. The page
was written before anyone timed jaxtree on these devices, so that a time can show it to be false. Of NVIDIA's devices
only the H200's program was compiled, which is taken for all. Made by `python -m benchmarks.roofline` from counts of
{counted}; `--compile` counts again.

The likely time (best to worst) of programs that are compiled and whose arrays are on the device. Where arguments and
temporary memory do not fit, jaxtree halves the work and tries again, which is not predicted. The last column was
measured, and is from `notebooks/benchmarks.md`:

"""

FALSE = """\

## What would falsify it

A time, the least of several, of more than {factor:g} times the likely one or of less than it divided by {factor:g}, on
the device and by the command named at each workload. A time in between with another largest term in a profile than the
one named here falsifies the model, though not the sum. A time outside the range from best to worst says that a rate or
an amount is wrong, and not only a guess. Examples:

"""

METHOD = """\

## How work is counted

- XLA writes the body of a loop once, and `cost_analysis()` counts it once. So the optimised program is read as text:
  the entry, every body and condition of a loop, every branch. Each counts as often as it is entered.
- Rounds that the compiler knows stand in its text (`known_trip_count`, or a constant in the condition). Others were
  **counted by running the same program on a CPU**, with the plan of a GPU or a TPU and data like the workload's, every
  loop and branch telling when it is entered. Loops are matched by their place in the sources, which XLA writes beside
  them. Where the rounds depend on the size, they were counted at two sizes and follow a line: {sizes}. Rounds of
  boosting are all taken to be like the first.
- A kernel is an operation of these parts: a fusion, a copy, a sort (16 launches: 8 passes of CUB), a kernel of another
  library. XLA's own list of what it starts for the tree on an H200 (`--xla_dump_to`) agrees: 197 kernels and copies
  but for the sort. A GPU's host reads the condition of every loop whose rounds are not known, and of every branch.
- Bytes are those of arguments and results of each kernel, at the memory's rate even where a cache would serve them. A
  lookup counts the elements that it takes, in tables of more than 1 MB one sector of 32 bytes each; codes in the order
  of the rows count their own bytes. A scatter counts its additions, each two sectors of 32 bytes, in the cache if the
  largest table fits.
- Arithmetic counts one operation for every element that is computed, 10 for divisions and roots, 20 to 40 for
  logarithms, exponentials and powers.
- The TPU's compiler writes down how many cycles it expects of most operations; these are taken, at {clock:.2f} GHz, and
  how good they are is not published. It expects none of lookups, scatters and copies: of these, elements count
  {lookup} and {addition} cycles (best, likely, worst; guesses), and bytes go at the memory's rate.

Histograms are XLA's scatters, as without the extra `gpu`, except where a workload names the kernel. Not in any term:
Python between calls, checks of arguments, binning, the transfer of results, and the host's work on a search.

"""


OTHER_RATES = """
TPU v5e: 197 TFLOPS in bfloat16 and 819 GB/s (Google Cloud, *TPU v5e*, https://cloud.google.com/tpu/docs/v5e); the rate
of its bus is not published.

A launch takes {launch} us and a condition that the host reads {read} us (best, likely, worst). The likely launch and
the best read are from A. Gray, *Getting Started with CUDA Graphs*, https://developer.nvidia.com/blog/cuda-graphs/, on a
V100; the others are guesses, and so are the parts of the makers' rates that programs reach, which
`benchmarks/roofline/rates.py` has. **No public rate of additions by many threads was found**: two sectors each is a
convention.
"""

OTHERS = """\
## Published times of others

Tasks and machines differ from those above: these figures say of what order a time is. Of forests of cuML, predictions
of FIL and Hummingbird, and of bartz no time of a task like these was found, so that they have no row.

"""
