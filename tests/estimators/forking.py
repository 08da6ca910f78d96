"""Work in a forked child of this process, with a limit of time."""

import multiprocessing
import queue
import traceback
import warnings

SECONDS = 60


def in_forked_child(work, *arguments, seconds=SECONDS):
    """Returns what a function returns in a forked child, or its error as text; fails where the child hangs."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()

    def run():
        try:
            results.put((work(*arguments), None))
        except BaseException as error:
            results.put((None, f"{type(error).__name__}: {error}\n{traceback.format_exc()}"))

    child = context.Process(target=run, daemon=True)
    with warnings.catch_warnings(action="ignore"):  # of JAX and of Python, that such a child may hang
        child.start()
    try:
        return results.get(timeout=seconds)
    except queue.Empty:
        raise AssertionError(f"the child hangs in {work}") from None
    finally:
        child.kill()
        child.join()
