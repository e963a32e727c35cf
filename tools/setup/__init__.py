"""Set up the checkout: .venv with psychoeval and its tools, R and mirt where that can be done, and the fitting rpy2.

``make setup`` runs it with any Python >= 3.11; it needs nothing but the standard library. What is already there is
left alone, so that a second run changes nothing. What cannot be brought is named at the end, with the command that
brings it; set-up then goes on with the engines that are there.

Environment
-----------
PSYCHOEVAL_CRAN
    A folder of R packages: an R repository, or one that holds a repository ``source`` and perhaps repositories of
    packages built for a distribution and R, named like ``debian12-r4.2-amd64``. By default ``../shared/cran`` where
    that exists; else mirt, eRm, equateIRT and catR come from the repositories that R has configured.
PSYCHOEVAL_REQUIRE
    Engines, comma-separated, without which set-up has failed.
"""
