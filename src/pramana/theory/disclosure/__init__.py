"""What the sizes of classes tell of the risk of being found, by the models of the field; each names its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.theory.disclosure.individual import expected_inverse, individual_risks
    from pramana.theory.disclosure.population import (
        PopulationUniques,
        SizeCounts,
        pitman_fit,
        pitman_uniques,
        population_classes,
        population_uniques,
        snb_fit,
        snb_uniques,
        uniques_by,
        zayatz_uniques,
    )
    from pramana.theory.disclosure.special_uniques import (
        dis_scores,
        elliot_weights,
        ihsn_weights,
        intrusion_simulation,
    )

_MODULE_OF = {  # a command loads what it uses
    "PopulationUniques": "population",
    "SizeCounts": "population",
    "dis_scores": "special_uniques",
    "elliot_weights": "special_uniques",
    "expected_inverse": "individual",
    "ihsn_weights": "special_uniques",
    "individual_risks": "individual",
    "intrusion_simulation": "special_uniques",
    "pitman_fit": "population",
    "pitman_uniques": "population",
    "population_classes": "population",
    "population_uniques": "population",
    "snb_fit": "population",
    "snb_uniques": "population",
    "uniques_by": "population",
    "zayatz_uniques": "population",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = [
    "PopulationUniques",
    "SizeCounts",
    "dis_scores",
    "elliot_weights",
    "expected_inverse",
    "ihsn_weights",
    "individual_risks",
    "intrusion_simulation",
    "pitman_fit",
    "pitman_uniques",
    "population_classes",
    "population_uniques",
    "snb_fit",
    "snb_uniques",
    "uniques_by",
    "zayatz_uniques",
]
