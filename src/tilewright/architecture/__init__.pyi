"""The public names of the package, see `tilewright.exports`."""

from tilewright.architecture.constraints.constraint import Constraint as Constraint
from tilewright.architecture.constraints.constraint import Constraints as Constraints
from tilewright.architecture.constraints.constraint import Limits as Limits
from tilewright.architecture.constraints.files import dump_constraints as dump_constraints
from tilewright.architecture.constraints.files import load_constraints as load_constraints
from tilewright.architecture.constraints.files import parse_constraints as parse_constraints
from tilewright.architecture.files import dump_architecture as dump_architecture
from tilewright.architecture.files import load_architecture as load_architecture
from tilewright.architecture.files import parse_architecture as parse_architecture
from tilewright.architecture.files import preset_names as preset_names
from tilewright.architecture.machine import Architecture as Architecture
from tilewright.architecture.machine import Array as Array
from tilewright.architecture.machine import Compute as Compute
from tilewright.architecture.machine import Level as Level
from tilewright.architecture.machine import Memory as Memory
from tilewright.architecture.technology.files import load_technology as load_technology
from tilewright.architecture.technology.files import register_technology as register_technology
from tilewright.architecture.technology.files import technology_names as technology_names
from tilewright.architecture.technology.technology import Technology as Technology
