"""R mirt: marginal maximum likelihood by EM and by MH-RM, its answers judged before they are believed."""
