"""What a replica holds: requests in progress, and the room of its KV cache."""

from __future__ import annotations

import heapq
import math
from collections import deque

from planner.replay.prefix_blocks import PrefixBlocks
from planner.replay.run_state import RunState
from planner.replay.worker import Worker


class Holdings:
    """Requests of one replica and the bytes that they take; room is counted exactly where it is short."""

    __slots__ = (
        "begins_s", "begun", "cache", "ends", "held", "joined", "left", "only_prompts", "preemptions",
        "prefilling", "queue", "reserved", "room", "run", "stall_s", "step", "swaps", "taken", "waiting",
        "worker",
    )  # fmt: skip

    def __init__(
        self, worker: Worker, run: RunState, *, only_prompts: bool = False, queue: deque[int] | None = None
    ) -> None:
        """Nothing is held.

        Args:
            worker: what the replica is.
            run: the requests.
            only_prompts: it computes prompts for other replicas.
            queue: shared by all replicas of the pool; None: each has its own.
        """
        self.worker, self.run, self.queue = worker, run, queue
        self.only_prompts = only_prompts
        self.waiting: deque[int] = deque()
        self.prefilling: list[int] = []
        self.left: dict[int, int] = {}
        """Prompt tokens to compute, of those in prefill."""
        self.taken: dict[int, float] = {}
        """Bytes that are reserved for them, or with `Worker.reserves_answer` for all."""
        self.reserved = 0.0
        self.ends: list[tuple[int, int]] = []
        """Step in which each answer ends, and its request: a heap."""
        self.begun: dict[int, tuple[int, float]] = {}
        """Step in which each began to decode, and its context then."""
        self.joined: list[int] = []
        """Requests whose first token here is that of the step in progress."""
        self.step = 0
        self.held = 0.0
        """Context of all decoding requests in tokens."""
        self.room = worker.kv.room_bytes * (1.0 + 1e-12)
        self.begins_s = 0.0
        """When what is in progress began."""
        self.preemptions = self.swaps = 0
        self.stall_s = 0.0
        """Time on the host's link before the next step."""
        self.cache = PrefixBlocks(worker.eviction) if run.requests.blocks is not None else None
        """Blocks of prompts that may be found again, in what running requests leave of the room."""

    def opens(self, queue: deque[int] | None) -> None:
        """It takes requests, of the pool's queue if there is one."""
        self.queue = queue

    def closes(self) -> None:
        """It takes none any more."""
        self.queue = None

    def counted(self) -> int:
        """Decoding requests whose gaps matter."""
        return len(self.ends)

    def used_bytes(self, more_steps: int = 0) -> float:
        """Bytes of the cache that are taken, after so many more steps; exact."""
        if self.worker.reserves_answer:
            return self.reserved
        kv, each = self.worker.kv, self.worker.tokens_per_step
        n, block = len(self.ends), kv.block_tokens
        if not kv.block_bytes or not n:
            return self.reserved + n * kv.fixed_bytes
        at = self.step + more_steps
        if each == 1.0:
            more = at + block - 1
            blocks = sum([(int(context) - began + more) // block for began, context in self.begun.values()])
        else:
            blocks = sum(
                [math.ceil((context + (at - began) * each) / block) for began, context in self.begun.values()]
            )
        return self.reserved + n * kv.fixed_bytes + blocks * kv.block_bytes

    def most_bytes(self, more_steps: int) -> float:
        """The same, at most: every last block just begun."""
        kv, n = self.worker.kv, len(self.ends)
        each = self.worker.tokens_per_step
        last = kv.block_tokens - 1.0 if each == 1.0 else kv.block_tokens
        tokens = self.held + n * (more_steps * each + last)
        return self.reserved + n * kv.fixed_bytes + tokens / kv.block_tokens * kv.block_bytes

    def fitting(self, steps: int) -> int:
        """So many of these steps as the cache has room for; the youngest request gives way to one."""
        if self.worker.reserves_answer:
            return steps
        while self.most_bytes(steps) > self.room:
            if self.used_bytes(steps) <= self.room:
                return steps
            low, high = 0, steps
            while high - low > 1:
                middle = (low + high) // 2
                if self.used_bytes(middle) <= self.room:
                    low = middle
                else:
                    high = middle
            if low or len(self.ends) + len(self.prefilling) == 1:
                return max(low, 1)
            self.preempt()
            if not self.ends:
                return 0
            steps = self.ends[0][0] - self.step if steps > 1 else steps
        return steps

    def victim(self) -> int:
        """Who gives way: the request that was admitted last."""
        return self.prefilling[-1] if self.prefilling else next(reversed(self.begun))

    def preempt(self) -> None:
        """The request that was admitted last is set back; its KV is computed again, or kept by the host."""
        self.preemptions += 1
        index = self.victim()
        if index in self.left:
            self.prefilling.remove(index)
            del self.left[index]
            self.reserved -= self.taken.pop(index)
            self.waiting.appendleft(index)
            return
        began, context = self.begun.pop(index)
        if self.worker.reserves_answer:
            self.reserved -= self.taken.pop(index)
        each = self.worker.tokens_per_step
        grown = (self.step - began) * each
        self.held -= context + grown
        self.ends = [entry for entry in self.ends if entry[1] != index]
        heapq.heapify(self.ends)
        run = self.run
        written = int(context + grown + 1e-9) - run.requests.prompt[index]
        run.handed[index] = 0
        if written > 0:
            run.written[index] = min(written, run.requests.answer[index] - 1)
            run.stalled_s[index] = self.begins_s
            if self.worker.swap_bytes_per_s:
                run.swapped[index] = round(context + grown)
                self.stall_s += self.worker.kv.bytes_of(context + grown) / self.worker.swap_bytes_per_s
                self.swaps += 1
        if index in self.joined:
            self.joined.remove(index)
        self.waiting.appendleft(index)

    def need_bytes(self, index: int) -> float:
        """What a request takes when it is admitted."""
        requests = self.run.requests
        tokens = requests.prompt[index] + self.run.written.get(index, 0)
        if self.worker.reserves_answer and not self.only_prompts:
            tokens = requests.prompt[index] + requests.answer[index]
        return self.worker.kv.bytes_of(tokens)

    def has_room(self, index: int) -> bool:
        """Whether a request may be admitted now."""
        worker = self.worker
        inside = len(self.ends) + len(self.prefilling)
        if inside >= worker.running or (worker.whole_batches and self.ends):
            return False
        if not inside:
            return True
        need = self.need_bytes(index)
        return self.most_bytes(0) + need <= self.room or self.used_bytes() + need <= self.room

    def uncached(self, index: int) -> int:
        """Prompt tokens of a request that have to be computed now."""
        requests = self.run.requests
        if self.cache is None or requests.blocks is None:
            return requests.computed[index]
        found = self.cache.found(requests.blocks[index]) * requests.block_tokens
        left = max(requests.prompt[index] - found, 1)
        self.run.computed[index] = left
        return left

    def remember(self, index: int) -> None:
        """The prompt of a request was computed: its blocks are held as far as there is room."""
        requests = self.run.requests
        if self.cache is not None and requests.blocks is not None:
            priority = 0 if requests.priority is None else requests.priority[index]
            self.cache.use(requests.blocks[index], self._room_blocks(), priority)

    def make_room(self) -> None:
        """Running requests take the place of blocks that nobody reads."""
        if self.cache is not None:
            self.cache.shrink(self._room_blocks())

    def _room_blocks(self) -> float:
        kv, tokens = self.worker.kv, self.run.requests.block_tokens
        if not kv.block_bytes:
            return math.inf
        free = max(kv.room_bytes - self.most_bytes(0), 0.0)
        return free / (kv.block_bytes * tokens / kv.block_tokens)

    def forget(self) -> None:
        """The prefix cache is lost."""
        if self.cache is not None:
            self.cache.clear()

    def dropped(self) -> list[int]:
        """Every request that was here, with nothing of what it had written."""
        lost = [*self.begun, *self.prefilling, *self.waiting]
        for index in lost:
            self.run.written.pop(index, None)
            self.run.swapped.pop(index, None)
            self.run.stalled_s.pop(index, None)
            self.run.handed[index] = 0
        self.forget()
        self.waiting.clear()
        self.prefilling, self.joined = [], []
        self.left, self.taken, self.begun = {}, {}, {}
        self.ends, self.held, self.reserved = [], 0.0, 0.0
        return lost
