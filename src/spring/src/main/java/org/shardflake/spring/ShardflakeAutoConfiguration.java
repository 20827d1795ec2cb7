/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.util.Objects;
import javax.sql.DataSource;
import org.jooq.impl.DefaultConfiguration;
import org.shardflake.jooq.JooqRouter;
import org.shardflake.micrometer.MicrometerListener;
import org.shardflake.micrometer.ObservationListener;
import org.shardflake.router.RouterListener;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.PasswordSource;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.PropertySource;
import org.springframework.context.annotation.Role;
import org.springframework.jdbc.support.SQLExceptionTranslator;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionManager;

/**
 * The router and, over it, the application's {@code DataSource} and transactions. The names of classes are those of Spring
 * Boot 3 and 4.
 */
@AutoConfiguration(
        beforeName = {
            "org.springframework.boot.actuate.autoconfigure.health.HealthContributorAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.jdbc.DataSourceHealthContributorAutoConfiguration",
            "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration",
            "org.springframework.boot.autoconfigure.jdbc.DataSourceTransactionManagerAutoConfiguration",
            "org.springframework.boot.autoconfigure.jdbc.JdbcTemplateAutoConfiguration",
            "org.springframework.boot.autoconfigure.jooq.JooqAutoConfiguration",
            "org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration",
            ShardflakeAutoConfiguration.TRANSACTIONS_OF_BOOT_3,
            "org.springframework.boot.health.autoconfigure.contributor.HealthContributorAutoConfiguration",
            "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.health.DataSourceHealthContributorAutoConfiguration",
            "org.springframework.boot.jooq.autoconfigure.JooqAutoConfiguration",
            ShardflakeAutoConfiguration.TRANSACTIONS
        },
        afterName = {
            "org.springframework.boot.actuate.autoconfigure.metrics.MetricsAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration",
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration"
        })
@ConditionalOnBooleanProperty(name = "shardflake.enabled", matchIfMissing = true)
@EnableConfigurationProperties(ShardflakeProperties.class)
final class ShardflakeAutoConfiguration {

    static final String TRANSACTIONS =
            "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration";
    static final String TRANSACTIONS_OF_BOOT_3 =
            "org.springframework.boot.autoconfigure.transaction.TransactionAutoConfiguration";

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    ShardRouter shardRouter(
            ShardflakeProperties properties,
            ObjectProvider<ShardflakeConnectionDetails> details,
            ObjectProvider<PasswordSource> passwords,
            ObjectProvider<RouterListener> listeners,
            ObjectProvider<ShardRouterCustomizer> customizers) {
        return new RouterStart(properties, details.getIfAvailable(), passwords.getIfAvailable()).start(builder -> {
            listeners.orderedStream().forEach(builder::listener);
            customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
        });
    }

    /**
     * The beans for an application without a {@code DataSource} of its own; with one, {@link OnlyDataSource} refuses beans that need this one.
     */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingBean(DataSource.class)
    static class OverShards {

        @Bean
        DataSource dataSource(ShardRouter router) {
            return new CurrentShardDataSource(router);
        }
    }

    /** The transaction manager, unless JPA's exists: beans of the classes below come first. */
    @Bean
    @ConditionalOnMissingBean(TransactionManager.class)
    PlatformTransactionManager transactionManager(
            ShardRouter router, DataSource dataSource, ListableBeanFactory beans) {
        OnlyDataSource.require(beans);
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
    static OnShardAdvisor onShardAdvisor(ObjectProvider<ShardRouter> router, ListableBeanFactory beans) {
        return new OnShardAdvisor(router::getObject, beans, () -> OnlyDataSource.require(beans));
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = {"org.springframework.orm.jpa.JpaTransactionManager", "org.hibernate.Session"})
    static class Jpa {

        @Bean
        static HibernateSetUp shardflakeHibernate(ObjectProvider<ShardRouter> router) {
            return new HibernateSetUp(router::getObject);
        }

        /** The transaction manager of JPA, if there are entities. */
        @Bean("transactionManager")
        @ConditionalOnMissingBean(TransactionManager.class)
        PlatformTransactionManager jpaTransactionManager(
                ShardRouter router,
                DataSource dataSource,
                ObjectProvider<EntityManagerFactory> entityManagers,
                ListableBeanFactory beans) {
            OnlyDataSource.require(beans);
            EntityManagerFactory factory = entityManagers.getIfUnique();
            return factory == null
                    ? new ShardTransactionManager(router, dataSource)
                    : new ShardJpaTransactionManager(router, dataSource, factory);
        }
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
    @ConditionalOnClass({ObservationRegistry.class, ObservationListener.class})
    @ConditionalOnBean(ObservationRegistry.class)
    static class Observations {

        @Bean
        @ConditionalOnMissingBean
        ObservationListener shardflakeObservations(ObservationRegistry registry) {
            return new ObservationListener(registry);
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

    /** Tells jOOQ the dialect, since it would otherwise connect to a server to ask. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.jooq.DSLContext")
    @PropertySource("classpath:org/shardflake/spring/jooq.properties")
    static class JooqDialect {}

    /** Replaces the health check of data sources, which would have no shard to check. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(HealthIndicator.class)
    static class Health {

        @Bean({"shardflakeHealthIndicator", "dbHealthContributor"})
        @ConditionalOnMissingBean(name = {"shardflakeHealthIndicator", "dbHealthContributor", "dbHealthIndicator"})
        HealthIndicator shardflakeHealthIndicator(ShardRouter router) {
            return new ShardflakeHealthIndicator(router);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = BootThreeBean.HEALTH_INDICATOR)
    static class HealthOfBootThree {

        @Bean({"shardflakeHealthIndicator", "dbHealthContributor"})
        @ConditionalOnMissingBean(name = {"shardflakeHealthIndicator", "dbHealthContributor", "dbHealthIndicator"})
        static BootThreeBean shardflakeHealthIndicator(ObjectProvider<ShardRouter> router) {
            return BootThreeBean.health(router);
        }
    }

    /** Reports a missing module: in Spring Boot 4, {@code @Transactional} would do nothing without it. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingClass({TRANSACTIONS, TRANSACTIONS_OF_BOOT_3})
    static class NoTransactions {

        NoTransactions() {
            throw new ShardflakeStartException(
                    "Spring Boot's support of transactions is missing.",
                    "Add the dependency spring-boot-starter-jdbc, or spring-boot-starter-data-jpa.");
        }
    }
}
