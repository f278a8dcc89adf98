# R's e1071, which is LIBSVM: coefficients, samples and rho. Called with samples, answer, C, gamma and tol.
given <- commandArgs(TRUE)
suppressMessages(library(e1071))
data <- as.matrix(read.csv(given[1]))
model <- svm(data[, -(1:2), drop = FALSE], factor(data[, "y"]), scale = FALSE, kernel = "radial",
             cost = as.numeric(given[3]), gamma = as.numeric(given[4]), tolerance = as.numeric(given[5]))
sign <- if (model$labels[1] == which(model$levels == "1")) 1 else -1
found <- data.frame(index = model$index, coefs = sign * model$coefs, rho = sign * model$rho)
found <- format(found, digits = 17, trim = TRUE)  # write.csv alone keeps 15 digits
write.csv(found, given[2], row.names = FALSE, quote = FALSE)
