"""Large fleets by mixed-integer programming: HiGHS, reached through OR-Tools' MathOpt."""
