"""A fleet: the processes of one campaign. They share the folder of the corpus and nothing else."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from acl_cts.conformance.crew import Crew
from acl_cts.fuzz.atheris_campaign import AtherisCampaign
from acl_cts.fuzz.campaign import Campaign
from acl_cts.fuzz.plan import ATHERIS, CampaignPlan, Event


@dataclass(slots=True)
class Fleet:
    """`plan`: of each process, its number apart; `runs` is shared out among them."""

    plan: CampaignPlan
    _flag: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 1))  # no lock, which a killed process could hold

    def run(self) -> Iterator[Event]:
        """What the processes tell, as it comes. Raises HarnessError when one of them fails, BadInput when one
        cannot use what was given."""
        plan = self.plan
        with Crew(plan.jobs, self._work) as crew:
            yield from crew.do([replace(plan, job=job, runs=self._share(job)) for job in range(plan.jobs)])

    def stop(self) -> None:
        """Let every process end in order, within moments."""
        self._flag[0] = 1

    def _work(self, plan: CampaignPlan) -> Iterator[Event]:
        made = AtherisCampaign if plan.engine == ATHERIS else Campaign
        return made(plan, lambda: self._flag[0] != 0).run()

    def _share(self, job: int) -> int:
        runs, jobs = self.plan.runs, self.plan.jobs
        return (runs + jobs - 1 - job) // jobs if runs else 0
