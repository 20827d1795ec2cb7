/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Has Boot print which framework used the shards' {@code DataSource} when the application started, and how it gets one of its own. */
final class NoShardFailureAnalyzer extends AbstractFailureAnalyzer<NoShardException> {

    private static final String DEPLOY = "Tables of shards are changed by '%s'.".formatted(CliCommand.SCHEMA_DEPLOY);

    private static final String OWN_DATABASE =
            "For tables in a database of its own, add a bean of that database: @Bean(defaultCandidate = false) %s DataSource.";

    /**
     * What a framework needs.
     *
     * @param sign what its classes and beans have in their names, in lower case
     */
    private record Framework(String sign, String name, String action) {}

    private static final List<Framework> FRAMEWORKS = List.of(
            new Framework(
                    "flyway",
                    "Flyway",
                    "Set spring.flyway.enabled=false. " + DEPLOY
                            + " For tables in a database of its own, set spring.flyway.url, spring.flyway.user and spring.flyway.password."),
            new Framework(
                    "liquibase",
                    "Liquibase",
                    "Set spring.liquibase.enabled=false. " + DEPLOY
                            + " For tables in a database of its own, set spring.liquibase.url, spring.liquibase.user and spring.liquibase.password."),
            new Framework(
                    "quartz",
                    "Quartz",
                    "Set spring.quartz.job-store-type=memory. " + OWN_DATABASE.formatted("@QuartzDataSource")),
            new Framework(
                    "batch",
                    "Spring Batch",
                    OWN_DATABASE.formatted("@BatchDataSource")
                            + " Add its transaction manager: @Bean(defaultCandidate = false) @BatchTransactionManager PlatformTransactionManager."),
            new Framework(
                    "session",
                    "Spring Session",
                    OWN_DATABASE.formatted("@SpringSessionDataSource")
                            + " Add the bean springSessionTransactionOperations, a TransactionTemplate of that database."),
            new Framework(
                    "datasourcescriptdatabaseinitializer",
                    "spring.sql.init",
                    "Set spring.sql.init.mode=never. " + DEPLOY));

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, NoShardException cause) {
        String beans = beans(rootFailure);
        Framework found = find(beans);
        if (found == null) {
            found = find(classes(cause));
        }
        return found == null
                ? new FailureAnalysis(
                        "The DataSource is of the shards, and was used outside of any%s."
                                .formatted(beans.isEmpty() ? "" : " by the bean " + firstBean(rootFailure)),
                        "Annotate the method that uses it with @OnShard, or give that bean a DataSource of its own: @Bean(defaultCandidate = false) DataSource.",
                        cause)
                : new FailureAnalysis(
                        "%s uses the DataSource of the shards, outside of any shard.".formatted(found.name()),
                        found.action(),
                        cause);
    }

    private static @Nullable Framework find(String names) {
        return FRAMEWORKS.stream()
                .filter(framework -> names.contains(framework.sign()))
                .findFirst()
                .orElse(null);
    }

    /** The beans that could not be made, and where they are defined. */
    private static String beans(Throwable failure) {
        StringBuilder names = new StringBuilder();
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof BeanCreationException bean) {
                names.append(bean.getBeanName())
                        .append(' ')
                        .append(bean.getResourceDescription())
                        .append(' ');
            }
        }
        return names.toString().toLowerCase(Locale.ROOT);
    }

    private static @Nullable String firstBean(Throwable failure) {
        String name = null;
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof BeanCreationException bean && bean.getBeanName() != null) {
                name = bean.getBeanName();
            }
        }
        return name;
    }

    private static String classes(Throwable failure) {
        StringBuilder names = new StringBuilder();
        Arrays.stream(failure.getStackTrace())
                .forEach(frame -> names.append(frame.getClassName()).append(' '));
        return names.toString().toLowerCase(Locale.ROOT);
    }
}
