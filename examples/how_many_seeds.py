"""How many paired seeds does a comparison need before it can say anything at all?"""

from dissensus import stats

for methods in (2, 3, 4, 5):
    pairs = methods * (methods - 1) // 2
    print(f"{methods} methods, {pairs} pairs: {stats.fewest_seeds(pairs)} seeds at least")

# Table 1 of the Basins paper has twelve one-sided cells and five seeds: no result could have passed Holm.
print(stats.warning_for(5, tests=12, alternative="less"))
assert stats.fewest_seeds(12, alternative="less") == 8
assert stats.warning_for(5, tests=12, alternative="less") is not None
