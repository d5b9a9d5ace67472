"""Machines on one machine: the parts of the command `swarm`."""
