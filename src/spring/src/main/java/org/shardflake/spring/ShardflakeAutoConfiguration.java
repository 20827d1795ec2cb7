/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import io.micrometer.core.instrument.MeterRegistry;
import java.util.Objects;
import javax.sql.DataSource;
import org.jooq.SQLDialect;
import org.jooq.impl.DefaultConfiguration;
import org.shardflake.jooq.JooqRouter;
import org.shardflake.micrometer.MicrometerListener;
import org.shardflake.router.RouterListener;
import org.shardflake.router.ShardRouter;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.jooq.autoconfigure.DefaultConfigurationCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.jdbc.support.SQLExceptionTranslator;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionManager;

/** The router and, over it, the application's {@code DataSource} and transactions. */
@AutoConfiguration(
        beforeName = {
            "org.springframework.boot.health.autoconfigure.contributor.HealthContributorAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.health.DataSourceHealthContributorAutoConfiguration",
            "org.springframework.boot.jooq.autoconfigure.JooqAutoConfiguration",
            "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration"
        },
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration"
        })
@EnableConfigurationProperties(ShardflakeProperties.class)
final class ShardflakeAutoConfiguration {

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    ShardRouter shardRouter(
            ShardflakeProperties properties,
            ObjectProvider<RouterListener> listeners,
            ObjectProvider<ShardRouterCustomizer> customizers) {
        return new RouterStart(properties).start(builder -> {
            listeners.orderedStream().forEach(builder::listener);
            customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
        });
    }

    @Bean
    @ConditionalOnMissingBean
    DataSource dataSource(ShardRouter router) {
        return new CurrentShardDataSource(router);
    }

    @Bean
    @ConditionalOnMissingBean(TransactionManager.class)
    PlatformTransactionManager transactionManager(ShardRouter router, DataSource dataSource) {
        return new ShardTransactionManager(router, dataSource);
    }

    @Bean
    @ConditionalOnMissingBean
    SQLExceptionTranslator sqlExceptionTranslator() {
        return new ShardExceptionTranslator();
    }

    @Bean
    @ConditionalOnMissingBean
    ShardTemplate shardTemplate(ShardRouter router, PlatformTransactionManager transactionManager) {
        return new ShardTemplate(router, transactionManager);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static OnShardAdvisor onShardAdvisor(ObjectProvider<ShardRouter> router) {
        return new OnShardAdvisor(router::getObject);
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({MeterRegistry.class, MicrometerListener.class})
    @ConditionalOnBean(MeterRegistry.class)
    static class Meters {

        @Bean
        @ConditionalOnMissingBean
        MicrometerListener shardflakeMeters(MeterRegistry registry) {
            return new MicrometerListener(registry);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.jooq.DSLContext")
    @ConditionalOnProperty("shardflake.jooq.schema")
    static class Jooq {

        @Bean
        @ConditionalOnMissingBean
        JooqRouter jooqRouter(
                ShardRouter router,
                ShardflakeProperties properties,
                ObjectProvider<org.jooq.Configuration> configuration) {
            String schema = Objects.requireNonNull(properties.jooq().schema());
            return new JooqRouter(router, schema, configuration.getIfAvailable(DefaultConfiguration::new));
        }
    }

    /** Or jOOQ would ask a server which database it is. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({SQLDialect.class, DefaultConfigurationCustomizer.class})
    static class JooqDialect {

        @Bean
        DefaultConfigurationCustomizer shardflakeJooqDialect() {
            return configuration -> configuration.set(SQLDialect.POSTGRES);
        }
    }

    /** In the place of the check of a data source, which has no key. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(HealthIndicator.class)
    static class Health {

        @Bean({"shardflakeHealthIndicator", "dbHealthContributor"})
        @ConditionalOnMissingBean(name = {"shardflakeHealthIndicator", "dbHealthContributor", "dbHealthIndicator"})
        HealthIndicator shardflakeHealthIndicator(ShardRouter router) {
            return new ShardflakeHealthIndicator(router);
        }
    }
}
