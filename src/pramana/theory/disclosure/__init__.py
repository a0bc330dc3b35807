"""What the sizes of classes tell of the risk of being found, by the models of the field; each names its source."""

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
