-- Since when those that are here have been in their state is not known: from now on it is.
ALTER TABLE "Endpoint" ADD COLUMN "stateAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "Endpoint" ALTER COLUMN "stateAt" DROP DEFAULT;
