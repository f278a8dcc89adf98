# R's kernlab: coefficients, samples and rho. Called with samples, answer, C, gamma and tol.
given <- commandArgs(TRUE)
suppressMessages(library(kernlab))
data <- as.matrix(read.csv(given[1]))
model <- ksvm(data[, -(1:2), drop = FALSE], factor(data[, "y"]), type = "C-svc", scaled = FALSE,
              kernel = "rbfdot", kpar = list(sigma = as.numeric(given[4])),
              C = as.numeric(given[3]), tol = as.numeric(given[5]))
# the labels are in its coefficients, and its first class is that of the first sample
found <- data.frame(index = alphaindex(model)[[1]], coefs = coef(model)[[1]], rho = b(model))
found <- format(found, digits = 17, trim = TRUE)  # write.csv alone keeps 15 digits
write.csv(found, given[2], row.names = FALSE, quote = FALSE)
