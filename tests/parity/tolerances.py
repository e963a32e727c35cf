"""Every tolerance of a comparison with another program, each with its reason. Absolute unless it says otherwise."""

from typing import Final

#: mirt EM at TOL 1e-10 against the same call made directly in R: equal bits on one machine (measured); another BLAS or
#: R may stop EM a cycle earlier or later, and it stops within 1e-8 of the optimum.
SAME_ENGINE_PARAMETERS: Final = 1e-6
SAME_ENGINE_LOG_LIKELIHOOD: Final = 1e-7
#: Relative. Oakes' standard errors come from numerical derivatives of the EM map.
SAME_ENGINE_ERRORS: Final = 1e-4
#: mirt's fscores stops at 1e-6 or so: 2.8e-7 measured in the scores, 1.7e-6 in their errors.
SAME_ENGINE_SCORES: Final = 1e-5

#: The 1PL is fitted as a rescaled Rasch model, the reference as a 2PL with equal slopes. The nodes lie at +-6 on two
#: different scales, and mirt's free variance stops farther from the optimum than slopes do: 7.4e-6 measured in a
#: (lsat7), 3.3e-7 in the log-likelihood (simulated_missing).
TWO_ROUTES_PARAMETERS: Final = 2e-5
TWO_ROUTES_LOG_LIKELIHOOD: Final = 1e-6
#: Relative: 7.1e-6 measured.
TWO_ROUTES_ERRORS: Final = 1e-4
#: Scores of people who got nearly all right move by several times the change of a: 4.3e-5 measured (WLE).
TWO_ROUTES_SCORES: Final = 1e-4

#: mirt EM at its default TOL 1e-4 stops short of the optimum: 1.7e-3 in lsat7's third slope (measured).
EM_DEFAULT: Final = 3e-3

#: MH-RM is stochastic. In standard errors, over the parameters of a fit: .42 (largest) and .14 (mean) measured over two
#: seeds each of five fits of 5 to 15 items. The 1PL's slope, and the latent SD of a Rasch model, are one number for all
#: items: over ten seeds the SD's is .26 (lsat6) and .21 (lsat7) of its standard error, the farthest .48 and .74 off, so
#: they are compared by the mean over seeds.
MHRM_LARGEST: Final = 0.5
MHRM_MEAN: Final = 0.2

#: Published figures are printed with three decimals, and those of mirt at its default with EM_DEFAULT's error.
PRINTED_3: Final = 1e-3

#: Rasch against lme4's glmer with 25 adaptive nodes: 1.5e-5 measured (variance, lsat7), where the optimizer stops.
LME4: Final = 1e-4

#: Conditional likelihood against eRm 1.0-10, whose optimizer takes derivatives by differences and stops short: in
#: difficulties 3.6e-5 measured (simulated_missing, where its log-likelihood is 1.7e-7 lower), 4e-6 on complete data;
#: relative in standard errors, 4e-5 measured.
ERM: Final = 1e-4
ERM_LOG_LIKELIHOOD: Final = 1e-6
#: Wald's z divides differences of two such difficulties by a standard error of about .15, so that ERM becomes 1e-3.
ERM_WALD: Final = 1e-3
#: Conditional against marginal Rasch difficulties without priors, in standard errors, for normal abilities and complete
#: data: .02 measured on lsat6, .01 on lsat7, over twenty simulated sets of 500 x 12 at most .13 (median .02). With
#: missing cells the marginal likelihood also learns from who saw which items, and the two are farther apart: up to .33
#: with 20 % missing at random, .53 with three booklets, so that this is no bound there.
CML_AGAINST_MML: Final = 0.15

#: Classical statistics are closed forms: rounding only.
CLASSICAL: Final = 1e-12

#: The same data in another order: sums round differently, and mirt's optimizer for the latent variance stops 4e-11
#: apart (measured); everything else within 1e-13 or so.
REORDERED: Final = 1e-9
#: Ability errors that carry the items' in, under a 3PL on 200 persons: they come from the inverse of an information
#: matrix that is nearly flat along guessing, which widens the rounding of its sums (2.6e-9 measured).
REORDERED_ERRORS: Final = 2e-8

#: mml at tolerance 1e-8 against mirt EM at TOL 1e-10, two programs that share no code: 4.1e-8 measured in a and d
#: (simulated_40_missing, where mirt's own answer moves as much when its nodes are doubled).
NATIVE_PARAMETERS: Final = 1e-6
#: Of a Rasch model mirt's free variance stops farther off, and the intercepts go along: 7.4e-6 in the SD, 6.8e-6 in d,
#: where mml is within 1e-8 of mirt's own 1PL.
NATIVE_RASCH_PARAMETERS: Final = 2e-5
#: 4.0e-7 measured (simulated_missing): what mirt's nodes from -6 to 6 leave out of the normal distribution. On nodes
#: from -8 to 8 it is 1e-9, of Rasch models 3e-8.
NATIVE_LOG_LIKELIHOOD: Final = 1e-6
#: Relative. Louis' information against Oakes' derivatives of the EM map, which mirt takes by differences: 1.0e-4
#: measured (lsat7, guessing .2), mostly below 1e-6.
NATIVE_ERRORS: Final = 5e-4
#: EAPs and their errors, which fscores takes on its own nodes: 1.6e-5 measured (lsat7, Rasch).
NATIVE_SCORES: Final = 5e-5

#: Scores on mirt's own items against its fscores, whose optimizer stops: 5.8e-6 measured in ML, MAP and WLE; in EAP
#: 8e-7, what its nodes from -6 to 6 leave out.
KNOWN_ITEMS_SCORES: Final = 2e-5
#: Relative: mirt's errors of ML and MAP come from a numerical Hessian. 1.4e-4 measured.
KNOWN_ITEMS_ERRORS: Final = 1e-3
#: ML under the 3PL where the likelihood is flat, so that its optimizer stops early: 7.5e-5 measured.
KNOWN_ITEMS_FLAT: Final = 5e-4

#: R-hat, ESS and Monte Carlo errors of stored draws against R's posterior 1.4, relative: 4e-15 measured.
SAMPLING: Final = 1e-10
#: Leave-one-out against R's loo 2.5, relative: the same fit of a tail by the same formulas, 1e-13 measured.
LOO: Final = 1e-10

#: Posterior means of two samplers that share no program, in Monte Carlo standard errors of their difference: 2.6
#: measured, the largest of 228 parameters (brms against a program written by hand); of as many normal numbers the
#: largest is below 4 in 98 of 100 cases.
POSTERIOR_MCSE: Final = 4.0
#: |log| of the ratio of two posterior SDs, from 338 draws' worth of information or more: .19 measured.
POSTERIOR_SPREAD: Final = 0.35
#: Monte Carlo errors of the published means and SDs of stan_irt_2pl, in posterior SDs. They come from 10^6 draws of a
#: plain program; another plain program of the same model gives .12 independent draws a draw of the parameter that mixes
#: worst, and relative errors of the SDs of .0042 at 10^6 draws. Their five digits add at most .0005.
PUBLISHED_MEAN_ERROR: Final = 0.003
PUBLISHED_SD_ERROR: Final = 0.0042
#: Posterior under a population of items against the marginal maximum under hierarchical priors, two sets of priors that
#: are near but not equal: correlation of abilities .9998, at most .08 posterior SDs apart, items .16 (200 x 8).
POSTERIOR_CORRELATION: Final = 0.995
POSTERIOR_SDS: Final = 0.3

#: Relative: log densities and gradients of the Stan programs in stanli 0.24 against PyStan 3.10, which sum in another
#: order: 1.1e-15 measured.
STANLI_DENSITY: Final = 1e-13
#: The same at points where logits pass 20 and the density's functions go over to their limits: 6.9e-13 measured.
STANLI_DENSITY_FAR: Final = 1e-10
#: Marginal log-likelihoods of draws against those that the Stan programs put out, two quadratures: 7e-9 measured on
#: few trials, 6e-8 on many, where the programs' nodes follow each person. Of slopes above about 10, which these draws
#: do not have, the programs' nodes are too coarse (.006 at 56); ours are within 1e-9 of a grid of 240,001 nodes.
MARGINAL_DRAWS: Final = 1e-6

#: Loadings rotated by R's varimax (stats, eps = 1e-14): both climb until the criterion stands still to 1e-10, so that
#: loadings, at a flat maximum, stand still to about its root.
VARIMAX: Final = 1e-5
#: Loadings and correlations of factors by GPArotation's oblimin. Both stop where the projected gradient is below 1e-7:
#: 1.5e-8 measured.
OBLIMIN: Final = 1e-6

#: Minres loadings and omega of psych 2.2.9, whose optimizer stops at a relative change of 2e-9 of its objective: 2.8e-7
#: measured.
MINRES: Final = 2e-6

#: Linking constants and their errors by equateIRT 2.5.2, the same nodes and weights. Its search (nlminb, no gradient)
#: stops where ours goes on: 6.8e-8 measured in A and B, 2.0e-9 in their errors; closed forms within 1e-10.
EQUATEIRT: Final = 1e-6

#: Q3 and signed LD-X2 of pairs on mirt's own items: 1.2e-8 and 3.7e-9 measured, what its nodes from -6 to 6 leave out;
#: X2, which is N times a square, 3.8e-7.
PAIRS_KNOWN_ITEMS: Final = 1e-7
PAIRS_KNOWN_ITEMS_X2: Final = 2e-6
#: The same on our own fit: 2.2e-6 and 3.4e-4 measured (lsat7, Rasch, where mirt's free variance stops farther off).
PAIRS: Final = 1e-5
PAIRS_X2: Final = 1e-3

#: M2 itself, of sizes from 10 to 260, on two fits: 1.4e-6 measured.
M2: Final = 1e-5
#: mirt's M2 of the Rasch model lacks the derivatives by the latent variance: 3.8e-4 measured (simulated_500), which is
#: what these take up; without them ours is mirt's within M2.
M2_RASCH: Final = 1e-3
#: Relative, on mirt's own SAT12 data at TOL 1e-8: 9.4e-9 measured.
M2_RELATIVE: Final = 1e-7
#: CFI and TLI there: mirt's null model stops at its default tolerance, 1.4e-5 off the proportions (its M2 5168.00 for
#: 5167.90, which is mirt's at TOL 1e-12 and the closed form); 1.1e-6 measured.
M2_NULL: Final = 5e-6
#: RMSEA, its limits, SRMSR, CFI, TLI and p: 1.7e-7 measured (CFI, Rasch). mirt's limits come from uniroot.
M2_INDICES: Final = 1e-6

#: S-X2, its p and RMSEA on mirt's own items: 1.4e-7 measured (simulated_500, guessing .2), what its nodes from -6 to 6
#: leave out; Rasch models 2e-12.
S_X2: Final = 1e-6
#: The same on our own fit: 2.5e-5 measured (lsat7, Rasch, where mirt's free variance stops farther off).
S_X2_OWN_FIT: Final = 1e-4
#: Infit and outfit of items and their standardized versions on mirt's own items: 1.6e-7 measured, from EAPs that mirt
#: takes on its nodes.
MEAN_SQUARES: Final = 1e-6
#: The same of persons, and Zh: 6.8e-7 measured; each rests on one EAP.
PERSON_FIT: Final = 5e-6

#: Relative or absolute. Logistic regressions of items against R's glm at epsilon 1e-14: estimates and deviances are the
#: same to 1e-10, errors to 2.2e-9 (measured), which R takes from the weights of the step before its last.
GLM: Final = 1e-8

#: Twice the difference of two log-likelihoods against mirt::DIF at TOL 1e-8 and 121 nodes from -6 to 6: 1.5e-5 measured
#: (2PL; 3e-7 of the Rasch model), from nodes and from where its search stops.
DIF_LIKELIHOOD_RATIO: Final = 1e-4

#: Relative errors and information, and in logits what catR's own estimating equations leave at our abilities: 8e-15
#: measured; EAPs and their errors on its 321 nodes from -10 to 10, 1.1e-12.
CATR_SUMS: Final = 1e-10
#: catR's own abilities: R's uniroot stops at 1.2e-4 unless told otherwise, and catR does not tell; 3.0e-5 measured.
CATR_SEARCH: Final = 1e-4

#: Several groups against mirt's multipleGroup at TOL 1e-12, 161 nodes from -10 to 10: 5.6e-5 measured in the SD of a
#: group, with a higher log-likelihood on our side in every case: its optimizer for means and variances stops short.
GROUPS_PARAMETERS: Final = 1e-4
#: 5.7e-8 measured.
GROUPS_LOG_LIKELIHOOD: Final = 2e-7

#: Information of a test by mirt's testinfo, a closed form, relative: 4e-16 measured.
INFORMATION: Final = 1e-12
#: mirt's marginal_rxx, by R's integrate: 6.6e-11 measured.
MARGINAL_RXX: Final = 1e-8
#: Plausible values of 300 persons, 200 sets. Means and log SDs of each, ours less mirt's, in Monte Carlo errors: the
#: largest of 600 normal numbers is below 4.5 in 99.6 of 100 cases; their mean square has an error of .08, of which this
#: is four.
PLAUSIBLE_LARGEST: Final = 4.5
PLAUSIBLE_MEAN_SQUARE: Final = 0.33
#: Variance of means of mirt's Metropolis-Hastings draws over that of independent ones: 1.23 measured, from a
#: correlation of .105 of successive draws, (1 + r) / (1 - r).
PLAUSIBLE_CHAINS: Final = 1.235
