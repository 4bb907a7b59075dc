"""Who of those that wait is admitted to a replica, and what that takes: room, adapters, KV from the host."""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict, deque
from itertools import islice

from planner.replay.holdings import Holdings
from planner.replay.run_state import RunState
from planner.replay.worker import Worker

_LOOKED_AT = 256
"""Of those that wait, by a scheduler that looks at deadlines."""


class Admission(Holdings):
    """A replica at the door: the queue of requests, and slots for adapters."""

    __slots__ = ("adapter_loads", "adapters", "now_s", "starts_answers")

    def __init__(
        self, worker: Worker, run: RunState, *, only_prompts: bool = False, queue: deque[int] | None = None
    ) -> None:
        """Nobody is there; see `Holdings`."""
        super().__init__(worker, run, only_prompts=only_prompts, queue=queue)
        self.adapters: OrderedDict[int, None] = OrderedDict()
        """Those in slots, the one used longest ago first."""
        self.adapter_loads = 0
        self.starts_answers = False
        """The first token of what is transferred comes from here."""
        self.now_s = 0.0

    def _admit(self) -> None:
        """Requests for which there is room, while the step has tokens left."""
        budget = self.worker.batched_tokens - len(self.ends) * self.worker.verified_tokens
        budget -= sum(self.left.values())
        waiting, run = self.waiting, self.run
        while True:
            if waiting:
                source = waiting
            elif self.queue:
                source = self.queue
            else:
                return
            if self.worker.ttft_limit_s < math.inf and len(source) > 1:
                self._first_in_need(source)
            index = source[0]
            has_kv = run.handed[index] or index in run.swapped
            if (budget <= 0 and not has_kv) or not self.has_room(index) or not self._has_adapter(index):
                return
            source.popleft()
            if has_kv:
                self._take_back(index) if index in run.swapped else self._take_handed(index)
                continue
            need = self.need_bytes(index)
            self.taken[index] = need
            self.reserved += need
            left = self.uncached(index) + run.written.get(index, 0)
            self.left[index] = left
            self.prefilling.append(index)
            budget -= left

    def slack_s(self, index: int, now_s: float) -> float:
        """Time that is left before a prompt must be begun for its first token to be in time."""
        tokens = self.left.get(index, self.run.requests.computed[index])
        alone_s = self.worker.times.prompts_s(0, tokens, tokens * tokens / 2.0)
        return self.run.requests.arrival_s[index] + self.worker.ttft_limit_s - now_s - alone_s

    def _first_in_need(self, source: deque[int]) -> None:
        """The request with the least time left goes first; those that are late in any case go last."""
        now_s, handed, swapped = self.now_s, self.run.handed, self.run.swapped
        best, key = 0, (2, 0.0)
        for place, index in enumerate(islice(source, _LOOKED_AT)):
            slack_s = 0.0 if handed[index] or index in swapped else self.slack_s(index, now_s)
            own = (int(slack_s < 0.0), slack_s)
            if own < key:
                best, key = place, own
        if best:
            index = source[best]
            del source[best]
            source.appendleft(index)

    def _has_adapter(self, index: int) -> bool:
        """The adapter of a request is in a slot, or is loaded into one that nobody uses."""
        adapter_of, loaded = self.run.requests.adapter, self.adapters
        if adapter_of is None or not self.worker.adapter_slots:
            return True
        wanted = adapter_of[index]
        if wanted in loaded:
            loaded.move_to_end(wanted)
            return True
        if len(loaded) >= self.worker.adapter_slots:
            used = {adapter_of[one] for one in (*self.begun, *self.prefilling)}
            unused = next((one for one in loaded if one not in used), None)
            if unused is None:
                return False
            del loaded[unused]
        loaded[wanted] = None
        self.adapter_loads += 1
        self.stall_s += self.worker.adapter_load_s
        return True

    def _take_back(self, index: int) -> None:
        """A request whose KV was swapped out goes on where it stopped."""
        run = self.run
        context = run.swapped.pop(index)
        written = run.written.pop(index)
        self.stall_s += self.worker.kv.bytes_of(context) / self.worker.swap_bytes_per_s
        self._decode(index, context, written, self.now_s, [])
        self.joined.append(index)

    def _take_handed(self, index: int) -> None:
        """A request whose KV has come decodes at once."""
        run = self.run
        if self.worker.reserves_answer:
            need = self.need_bytes(index)
            self.taken[index] = need
            self.reserved += need
        written = 0 if self.starts_answers else 1
        self._decode(index, run.requests.prompt[index] + written, written, self.now_s, [])
        self.joined.append(index)

    def _decode(self, index: int, context: int, written: int, now_s: float, over: list[int]) -> None:
        """Decode a request from now on, unless everything is written."""
        rest = self.run.requests.answer[index] - written
        if rest <= 0:
            self.run.last_s[index] = now_s
            if self.worker.reserves_answer:
                self.reserved -= self.taken.pop(index)
            over.append(index)
            return
        each = self.worker.tokens_per_step
        steps = rest if each == 1.0 else math.ceil(rest / each - 1e-9)
        heapq.heappush(self.ends, (self.step + steps, index))
        self.begun[index] = (self.step, float(context))
        self.held += context
