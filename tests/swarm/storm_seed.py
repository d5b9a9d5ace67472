"""The seed of this run: TIDE_SEED, or a fresh one. Whoever reports a failure says it."""

import os
import random

SEED = int(os.environ.get("TIDE_SEED") or random.SystemRandom().randrange(1 << 31))
