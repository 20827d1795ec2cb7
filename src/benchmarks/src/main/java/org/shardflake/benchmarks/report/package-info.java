/** Reports of measurements: Markdown with charts beside it. {@link org.shardflake.benchmarks.report.Report} is the way in. */
@NullMarked
package org.shardflake.benchmarks.report;

import org.jspecify.annotations.NullMarked;
