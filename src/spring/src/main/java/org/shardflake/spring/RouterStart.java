/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.catalog.CatalogMissingException;
import org.shardflake.catalog.CatalogUnavailableException;
import org.shardflake.router.RetryPolicy;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardRouterBuilder;
import org.shardflake.server.PasswordSource;

/** Creates the router that the properties describe; a failure names the wrong property. */
final class RouterStart {

    private static final String CATALOG = "shardflake.catalog";
    private static final String EXAMPLE = CATALOG + "=postgresql://app@db1/app";

    private final ShardflakeProperties properties;
    private final @Nullable ShardflakeConnectionDetails details;
    private final @Nullable PasswordSource passwords;
    private final ShardRouterBuilder builder = ShardRouter.builder();

    RouterStart(
            ShardflakeProperties properties,
            @Nullable ShardflakeConnectionDetails details,
            @Nullable PasswordSource passwords) {
        this.properties = properties;
        this.details = details;
        this.passwords = passwords;
    }

    ShardRouter start(Consumer<ShardRouterBuilder> customizers) {
        if (details == null) {
            map();
            requireOnePassword();
            login(properties.username(), properties.password());
            ask();
        } else {
            builder.catalog(details.catalog());
            login(details.username(), details.password());
            if (details.password() == null) {
                ask();
            }
        }
        set("shardflake.poll-interval", properties.pollInterval(), builder::pollInterval);
        set("shardflake.drain-timeout", properties.drainTimeout(), builder::drainTimeout);
        set("shardflake.close-timeout", properties.closeTimeout(), builder::closeTimeout);
        ShardflakeProperties.Pool pool = properties.pool();
        set("shardflake.pool.size", pool.size(), builder::poolSize);
        set("shardflake.pool.connection-timeout", pool.connectionTimeout(), builder::connectionTimeout);
        set("shardflake.pool.statement-timeout", pool.statementTimeout(), builder::statementTimeout);
        set("shardflake.pool.cached-statements", pool.cachedStatements(), builder::cachedStatements);
        pool.driver()
                .forEach((name, value) ->
                        set("shardflake.pool.driver." + name, value, wanted -> builder.driverProperty(name, wanted)));
        builder.retryPolicy(retryPolicy());
        oldDatabase(properties.oldDatabase());
        customizers.accept(builder);
        return build();
    }

    private void map() {
        if (properties.catalog() == null && properties.mapFile() == null) {
            throw new ShardflakeStartException(
                    "The router has no shard map: neither shardflake.catalog nor shardflake.map-file is set.",
                    "Set shardflake.catalog to the URL of the catalog's database, as in " + EXAMPLE);
        }
        if (properties.catalog() != null && properties.mapFile() != null) {
            throw new ShardflakeStartException(
                    "The router has two shard maps: shardflake.catalog and shardflake.map-file are both set.",
                    "Keep shardflake.catalog to follow its map, or shardflake.map-file for a map that never changes.");
        }
        set(CATALOG, properties.catalog(), builder::catalog);
        set("shardflake.map-file", properties.mapFile(), builder::mapFile);
        set("shardflake.map-cache", properties.mapCache(), builder::cacheFile);
    }

    private void login(@Nullable String username, @Nullable String password) {
        if (username != null) {
            builder.credentials(username, password);
        } else if (password != null) {
            throw new ShardflakeStartException(
                    "shardflake.password is set, but not shardflake.username.",
                    "Set shardflake.username to the login that the password is for.");
        }
    }

    private void requireOnePassword() {
        if (passwords != null && properties.password() != null) {
            throw new ShardflakeStartException(
                    "There are two passwords: shardflake.password is set, and a bean of type PasswordSource gives others.",
                    "Remove shardflake.password, or the bean.");
        }
    }

    private void ask() {
        if (passwords != null) {
            builder.credentials(passwords);
        }
    }

    private void oldDatabase(ShardflakeProperties.@Nullable OldDatabase old) {
        if (old == null) {
            return;
        }
        if (old.url() == null) {
            throw new ShardflakeStartException(
                    "shardflake.old-database has settings, but not shardflake.old-database.url.",
                    "Set shardflake.old-database.url to the database that shards leave, or remove the settings once they have left it.");
        }
        set(
                "shardflake.old-database",
                old,
                one -> builder.oldDatabase(String.valueOf(one.url()), one.schema())
                        .darkReads(one.darkReads(), one.darkReadLag()));
    }

    private RetryPolicy retryPolicy() {
        ShardflakeProperties.Retry retry = properties.retry();
        RetryPolicy[] policy = {RetryPolicy.DEFAULT};
        set("shardflake.retry.max-tries", retry.maxTries(), tries -> policy[0] = policy[0].withMaxTries(tries));
        set("shardflake.retry.deadline", retry.deadline(), end -> policy[0] = policy[0].withDeadline(end));
        return retry.serializationFailures() ? policy[0].withSerializationFailures() : policy[0];
    }

    private static <T> void set(String property, @Nullable T value, Consumer<T> setter) {
        if (value == null) {
            return;
        }
        try {
            setter.accept(value);
        } catch (RuntimeException e) {
            throw ShardflakeStartException.because(property + " cannot be used", e, "Correct " + property + ".");
        }
    }

    private ShardRouter build() {
        try {
            return builder.build();
        } catch (CatalogMissingException e) {
            throw ShardflakeStartException.because(
                    "The database of shardflake.catalog has no shard map",
                    e,
                    "Create the installation with '%s', or set shardflake.catalog to the database that has it."
                            .formatted(CliCommand.INIT));
        } catch (CatalogUnavailableException e) {
            throw ShardflakeStartException.because(
                    "The catalog cannot be asked for the shard map",
                    e,
                    "Check that the server of shardflake.catalog runs and accepts this login (shardflake.username, shardflake.password)."
                            + " With shardflake.map-cache the application also starts while the catalog is down.");
        }
    }
}
