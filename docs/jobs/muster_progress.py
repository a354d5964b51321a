"""Tells Muster how far a training job is, and asks when to write the next checkpoint. Plain Python, with PyTorch or without.

    progress = MusterProgress()                      # in one process of the job, rank 0
    for step, batch in enumerate(loader, start):
        train(batch)
        if progress.step(step):                      # True: now is the best moment for a checkpoint
            with progress.saving(step):
                torch.save(model.state_dict(), path)
"""
import contextlib
import json
import os
import socket
import time


class MusterProgress:
    """Never raises and never waits for longer than `patience` seconds: where nobody listens, training goes on."""

    def __init__(self, job=None, path=None, every_s=1800.0, patience=0.5):
        env = os.environ
        array = env.get('SLURM_ARRAY_JOB_ID')
        self.job = str(job or (f"{array}_{env['SLURM_ARRAY_TASK_ID']}" if array else env.get('SLURM_JOB_ID', '')))
        self.path = path or env.get('MUSTER_SOCKET', '/run/muster-agent/jobs.sock')
        self.every_s, self.patience = every_s, patience
        self.next_at, self.link, self.again = None, None, 0.0
        self.saved_at = self.stepped_at = time.time()
        self.told_at = 0.0

    def tell(self, **what):
        """Sends step=, saved_step=, step_s=, saving_s=; returns the answer, {} where there is none."""
        if time.monotonic() < self.again:
            return {}
        try:
            if self.link is None:
                link = socket.socket(socket.AF_UNIX)
                link.settimeout(self.patience)
                link.connect(self.path)
                self.link = link.makefile('rw')
            self.link.write(json.dumps({'job': self.job, **what}) + '\n')
            self.link.flush()
            answer = json.loads(self.link.readline())
        except (OSError, ValueError):
            self.link, self.again = None, time.monotonic() + 60  # nobody there: asked again in a minute
            return {}
        self.every_s = answer.get('checkpoint_every_s', self.every_s)
        self.next_at = answer.get('next_checkpoint_at')
        return answer

    def step(self, step):
        """After each step. True: a checkpoint is due."""
        now = time.time()
        step_s, self.stepped_at = now - self.stepped_at, now
        if now - self.told_at >= 5:  # Muster looks every few seconds; telling it more often helps nobody
            self.told_at = now
            self.tell(step=step, step_s=step_s)
        # The moment Muster gave, but never much later than the interval: a clock may have been set.
        paced = self.next_at is not None and self.next_at < self.saved_at + 2 * self.every_s
        return now >= (self.next_at if paced else self.saved_at + self.every_s)

    @contextlib.contextmanager
    def saving(self, step):
        """Around the code that writes a checkpoint; tells once it is complete."""
        began = time.time()
        yield
        self.saved_at = self.stepped_at = self.told_at = time.time()
        self.next_at = None
        self.tell(step=step, saved_step=step, saving_s=self.saved_at - began)
