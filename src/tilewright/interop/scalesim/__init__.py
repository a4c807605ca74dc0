"""Files of SCALE-Sim, versions 2 and 3: topologies (``.csv``) and configurations (``.cfg``)."""
