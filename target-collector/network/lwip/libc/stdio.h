/* lwIP includes it, and calls nothing of it. */
